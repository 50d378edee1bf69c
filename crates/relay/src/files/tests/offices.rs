//! Post offices with databases of their own that share a folder: whatever one of them does, nothing is said twice.

use mail::channels::Post;
use mail::transfer::TransferStore;
use serde_json::json;

use super::*;

impl Town {
    /// Writes and takes in, as a process does that just started.
    async fn settle(&self, root: &Path) {
        self.bridge(root).await.settle().await.unwrap();
    }

    async fn posts(&self) -> Vec<Post> {
        let query = PostQuery { limit: 1_000, ..PostQuery::default() };
        self.office.posts(PROJECT, "dev", query).await.unwrap().2
    }
}

fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let all = fs::read_dir(root.join("channels/dev")).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> =
        all.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[tokio::test]
async fn an_office_that_imported_mail_says_nothing_of_it_again_in_the_same_folder() {
    let (first, other, heir, folder) = (town(), town(), town(), tempfile::tempdir().unwrap());
    let root = folder.path();
    let question = first.post("codex", "Well?").await.to_string();
    let answer = PostDraft { in_reply_to: Some(&question), ..draft("dev", "claude", "Yes.") };
    first.office.post(answer).await.unwrap();
    first.settle(root).await;
    other.settle(root).await;
    other.post("gemini", "And I?").await;
    other.settle(root).await;
    first.settle(root).await;
    let (written, told) = (files(root), other.texts().await);
    assert_eq!((written.len(), told.len()), (3, 3));

    // It has done something before, so that it counts its events otherwise.
    heir.office.ensure_mailbox(PROJECT, "docs-1").await.unwrap();
    let records = first.store.export(None, 1_000).await.unwrap();
    heir.store.import(&records, jiff::Timestamp::now()).await.unwrap();
    for _ in 0..2 {
        for town in [&heir, &other, &first] {
            town.settle(root).await;
        }
    }
    assert_eq!(files(root), written, "no file is new or changed");
    assert_eq!(other.texts().await, told);
    assert_eq!(heir.texts().await, first.texts().await);

    first.post("codex", "Go on.").await;
    heir.post("claude", "Gladly.").await;
    for town in [&first, &heir, &other, &first] {
        town.settle(root).await;
    }
    assert_eq!(files(root).len(), 5);
    for town in [&first, &heir, &other] {
        assert_eq!(town.posts().await.len(), 5, "what is said from then on is heard everywhere, once");
    }
}

#[tokio::test]
async fn imported_posts_are_written_into_a_new_folder_as_they_were_said_first() {
    let (first, heir) = (town(), town());
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    first.post("codex", "Well?").await;
    first.settle(old.path()).await;
    let records = first.store.export(None, 1_000).await.unwrap();
    heir.store.import(&records, jiff::Timestamp::now()).await.unwrap();
    heir.settle(new.path()).await;
    assert_eq!(files(new.path()), files(old.path()));
}

#[tokio::test]
async fn a_faulty_message_gets_one_report_however_many_offices_hear_it() {
    let (towns, folder) = ([town(), town(), town()], tempfile::tempdir().unwrap());
    let root = folder.path();
    let now = jiff::Timestamp::now();
    let name = format!("msg-{}-qc-1-4c78", now.strftime("%Y%m%d-%H%M%S"));
    let text = r#"{"type":"status_update","task_id":"bd-1","sender_id":"qc-1"}"#;
    let faulty = json!({
        "id": name, "timestamp": now.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(), "session_id": "dev",
        "from": "qc-1", "to": "all", "type": "chat", "content": { "text": text },
    });
    fs::create_dir_all(root.join("channels/dev")).unwrap();
    fs::write(root.join(format!("channels/dev/{name}.json")), faulty.to_string()).unwrap();
    for _ in 0..2 {
        for town in &towns {
            town.settle(root).await;
        }
    }
    assert_eq!(files(root).len(), 2);
    for town in &towns {
        let posts = town.posts().await;
        assert_eq!(posts.iter().filter(|post| post.kind == "error_report").count(), 1);
        assert!(posts.len() == 2 && posts[0].message.thread == posts[1].message.thread, "{posts:?}");
    }
}
