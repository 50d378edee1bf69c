//! The way to the database is encrypted and its end is known, or there is none; and nobody is told a password.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use testing::postgres::Private;

use crate::harness::repository::is_there;
use crate::harness::{self, Place, Ran};

const PASSWORD: &str = "s3cret-w0rd";

/// Makes an authority, and a certificate of this machine by it.
fn make_certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("openssl runs").success(), "openssl {arguments}");
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for name in ["ca", "other"] {
        openssl(&format!("req -x509 {key} -keyout {name}.key -out {name}.crt -days 2 -subj /CN={name}"));
    }
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").expect("the folder can be written to");
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=database"));
    openssl("x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt");
}

/// A database that is reached at a port, by whoever has the password; with TLS if that is asked for.
fn database(port: u16, with_tls: bool) -> Option<Private> {
    let database = Private::start_with(port, |folder| {
        make_certificates(folder);
        fs::write(
            folder.join("data/pg_hba.conf"),
            "local all all trust\nhost all all 0.0.0.0/0 scram-sha-256\nhost all all ::/0 scram-sha-256\n",
        )
        .expect("the cluster can be written to");
        // PostgreSQL uses no key that others could read.
        run("chmod", &["600", folder.join("server.key").to_str().unwrap()]);
        let owner = fs::metadata(folder.join("data")).expect("the cluster is there");
        let owner = std::os::unix::fs::MetadataExt::uid(&owner).to_string();
        run("chown", &[&owner, folder.join("server.key").to_str().unwrap()]);
        let tls = if with_tls { "on" } else { "off" };
        let folder = folder.display();
        format!(
            "-c listen_addresses=* -c ssl={tls} -c ssl_cert_file={folder}/server.crt -c ssl_key_file={folder}/server.key"
        )
    })?;
    database.psql(&format!("CREATE ROLE mail LOGIN SUPERUSER PASSWORD '{PASSWORD}'"));
    Some(database)
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).status().expect("the program runs");
    assert!(done.success(), "{program} {arguments:?}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free").port()
}

fn serve_fails(place: &Place, url: &str) -> Ran {
    let mut command = place.command(&["serve", "--port", "0"]);
    command.env("POSTRIDER_DATABASE", url).env("POSTRIDER_LOG", "trace");
    let ran: Ran =
        harness::within_deadline("the server gives up", move || command.output().expect("the binary runs").into());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!ran.stderr.contains(PASSWORD), "a password was told: {}", ran.stderr);
    ran
}

#[test]
fn a_database_is_used_only_when_its_certificate_is_by_a_known_authority() {
    if !is_there("openssl") {
        return;
    }
    let (port, place) = (free_port(), Place::new());
    let Some(database) = database(port, true) else { return };
    let folder = database.folder();
    let url = |host: &str, more: &str| format!("postgres://mail:{PASSWORD}@{host}:{port}/postgres?{more}");
    let authority = |name: &str| format!("sslmode=verify-full&sslrootcert={}/{name}.crt", folder.display());
    let server = place
        .serve_with(&[], &[("POSTRIDER_DATABASE", &url("127.0.0.1", &authority("ca"))), ("POSTRIDER_LOG", "trace")]);
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "encrypted");
    let sql = "DO $$ BEGIN IF (SELECT count(*) FILTER (WHERE NOT ssl) FROM pg_stat_ssl JOIN pg_stat_activity \
               USING (pid) WHERE application_name = 'postrider') > 0 THEN RAISE 'not encrypted'; END IF; END $$";
    database.psql(sql);
    let log = place.log();
    assert!(!log.contains(PASSWORD), "a password is in the log");
    server.stop();
    let foreign = serve_fails(&place, &url("127.0.0.1", &authority("other")));
    assert!(foreign.stderr.contains("certificate") && foreign.stderr.contains("UnknownIssuer"), "{}", foreign.stderr);
    assert!(!foreign.stderr.contains("the database is away"), "it is there: {}", foreign.stderr);
    let misnamed = serve_fails(&place, &url("localhost", &authority("ca")));
    assert!(misnamed.stderr.contains("certificate"), "{}", misnamed.stderr);
    let missing = serve_fails(&place, &url("127.0.0.1", "sslmode=verify-full&sslrootcert=/nowhere.crt"));
    assert!(missing.stderr.contains("/nowhere.crt"), "{}", missing.stderr);
    let wrong = url("127.0.0.1", &authority("ca")).replace(PASSWORD, "guessed-w0rd");
    let stranger = serve_fails(&place, &wrong);
    assert!(stranger.stderr.contains("password authentication failed"), "{}", stranger.stderr);
    assert!(!stranger.stderr.contains("guessed-w0rd"), "{}", stranger.stderr);
}

#[test]
fn a_database_without_tls_is_used_elsewhere_only_when_the_url_says_so() {
    if !is_there("openssl") {
        return;
    }
    let (port, place) = (free_port(), Place::new());
    let Some(database) = database(port, false) else { return };
    let authority = format!("sslrootcert={}/ca.crt", database.folder().display());
    // This machine, by an address that is not known to be its own.
    let url = |more: &str| format!("postgres://mail:{PASSWORD}@0.0.0.0:{port}/postgres?{more}");
    let refused = serve_fails(&place, &url(&authority));
    assert!(refused.stderr.contains("TLS"), "{}", refused.stderr);
    let server = place.serve_with(&[], &[("POSTRIDER_DATABASE", &url("sslmode=disable"))]);
    server.register(&["GreenDog"]);
    server.stop();
}
