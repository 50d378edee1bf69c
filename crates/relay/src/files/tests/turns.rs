//! Several processes of one post office, at once or one after another: each post is written once.

use super::*;

#[tokio::test]
async fn a_post_is_written_once_however_often_it_is_told() {
    let (town, shared) = (town(), shared());
    town.post("codex", "@claude Please look").await;
    // A process that ends before it noted how far it came leaves all of it to the next.
    for _ in 0..3 {
        town.bridge_after_a_crash(shared.root()).await.pass().await.unwrap();
    }
    let names = shared.names();
    assert_eq!(names.len(), 1, "{names:?}");
    let said = read_value(&fs::read_to_string(shared.path(&names[0])).unwrap()).unwrap();
    assert_eq!((format!("{}.json", said.id), said.text.as_str()), (names[0].clone(), "@claude Please look"));
    assert_eq!((said.session_id.as_str(), said.from.as_str(), said.to.as_str()), ("dev", "codex", "all"));
    assert_eq!(town.texts().await.len(), 1, "what we wrote is not taken in");
}

#[tokio::test]
async fn of_the_processes_of_an_office_one_writes_and_another_goes_on_when_it_lets_go() {
    let (town, shared) = (town(), shared());
    let (mut first, mut second) = (town.bridge(shared.root()).await, town.bridge(shared.root()).await);
    town.post("codex", "hello").await;
    first.pass().await.unwrap();
    // Somebody who takes away what it has read is not told the same again.
    fs::remove_file(shared.path(&shared.names()[0])).unwrap();
    second.pass().await.unwrap();
    assert_eq!(shared.names(), [""; 0]);
    town.post("codex", "and more").await;
    second.settle().await.unwrap();
    assert_eq!(shared.names(), [""; 0], "it is the work of the first");
    first.write_out().await.unwrap();
    assert_eq!(shared.names().len(), 1);
    town.post("codex", "the last").await;
    second.settle().await.unwrap();
    assert_eq!(shared.names().len(), 2, "the first let go");
}

#[tokio::test]
async fn what_was_written_before_a_crash_and_not_noted_is_known_for_our_own() {
    let (town, shared) = (town(), shared());
    let id = town.post("codex", "hello").await;
    let post = town.store.post(id).await.unwrap().unwrap();
    let office = town.store.office_id().await.unwrap();
    let name = outward::write_post(&channels_of(shared.root()).unwrap(), &post, &office).unwrap().unwrap();
    // Found before the log is followed, as by another process.
    town.bridge(shared.root()).await.take_in(Instant::now()).await.unwrap();
    assert_eq!(town.texts().await, ["hello"]);
    town.bridge(shared.root()).await.settle().await.unwrap();
    assert_eq!((town.texts().await.len(), shared.names()), (1, vec![format!("{name}.json")]));
}
