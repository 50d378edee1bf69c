//! A PostgreSQL database that an earlier version made is brought up to date, and keeps what it holds.

use std::path::Path;

use mail::agents::AgentStore;
use mail::ids::ProjectId;
use store::{Postgres, PostgresOptions};
use testing::postgres;
use tokio_postgres::Client;

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The steps, in order: what each is called, and what it does.
fn steps() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let name_of = |path: &Path| path.file_stem().unwrap().to_str().unwrap()["0001_".len()..].to_owned();
    files.iter().map(|path| (name_of(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Makes the schema as a program did that knew only these steps.
async fn make(client: &Client, steps: &[(String, String)]) {
    client
        .batch_execute(
            "CREATE TABLE migration (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum BYTEA NOT NULL)",
        )
        .await
        .unwrap();
    for (version, (name, sql)) in (1_i64..).zip(steps) {
        client.batch_execute(sql).await.unwrap();
        let checksum = blake3::hash(sql.as_bytes());
        let noted = "INSERT INTO migration (version, name, checksum) VALUES ($1, $2, $3)";
        client.execute(noted, &[&version, name, &checksum.as_bytes().as_slice()]).await.unwrap();
    }
}

/// Every column and every index.
async fn schema(client: &Client) -> Vec<String> {
    let sql = "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
               FROM information_schema.columns WHERE table_schema = current_schema()
               UNION ALL
               SELECT replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_every_earlier_version_becomes_as_a_fresh_one() {
    let Some(url) = postgres::fresh_url() else { return };
    Postgres::open(&url, &PostgresOptions::default()).await.unwrap();
    let fresh = schema(&connect(&url).await).await;
    assert!(fresh.iter().any(|line| line.starts_with("agent.retired_at bigint")), "{fresh:?}");
    let steps = steps();
    for version in 1..steps.len() {
        let url = postgres::fresh_url().unwrap();
        let client = connect(&url).await;
        make(&client, &steps[..version]).await;
        client
            .batch_execute(
                "INSERT INTO project (slug, human_key, created_at) VALUES ('a', '/a', 1);
                 INSERT INTO agent (project_id, name, program, model, task_description, registered_at, last_active_at)
                 VALUES (1, 'alice', '', '', '', 1, 1)",
            )
            .await
            .unwrap();
        let store = Postgres::open(&url, &PostgresOptions::default()).await.unwrap();
        assert_eq!(schema(&client).await, fresh, "from version {version}");
        let agents = store.agents(ProjectId(1), None, 10).await.unwrap();
        assert_eq!(
            agents.iter().map(|agent| (agent.name.as_str(), agent.retired_at)).collect::<Vec<_>>(),
            [("alice", None)]
        );
    }
}
