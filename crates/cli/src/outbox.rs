//! What is sent from a sandbox in which nothing is open but the workspace: operations in a folder there, taken in by who passes by outside.
//!
//! An operation is sealed with a key of the home folder, which a sandbox can read and a repository that somebody cloned cannot know. It
//! acts in the project of its workspace alone, and its sender is believed as at any door: where names have to be proved, it carries the
//! token. Only sending, answering and acknowledging are taken, under a key that makes a repetition harmless.

pub mod collecting;
pub mod workspaces;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use api::{AcknowledgeMessage, ReplyMessage, SendMail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use relay::outbox::Outbox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::clients;
use crate::config::names_remotes;
use crate::post_office::Tree;

/// The file of the key in the home folder, and how long it is.
const KEY_FILE: &str = "outbox.key";
const KEY_BYTES: usize = 32;

/// Something that is to be done for an agent: a verb, and what is said to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    verb: Carried,
    arguments: Map<String, Value>,
}

/// The verbs that an outbox carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Carried {
    SendMail,
    ReplyMessage,
    AcknowledgeMessage,
}

/// An operation as it lies in the folder.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    /// The operation, as JSON.
    operation: String,
    /// A hash over it, its id and its workspace, that only who knows the key can make.
    seal: String,
}

/// The key that operations are sealed with.
pub struct SealingKey([u8; KEY_BYTES]);

/// Where an operation waits.
#[derive(Debug, Serialize)]
pub struct Queued {
    pub id: String,
    pub folder: PathBuf,
}

impl SealingKey {
    /// The key of a home folder, if there is one.
    pub fn find(home: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(home.join(KEY_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = String::new();
        file.take(4 * KEY_BYTES as u64).read_to_string(&mut text)?;
        let key = STANDARD_NO_PAD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        // One that was damaged is as good as none, and is not replaced by us: somebody should look.
        key.map(|key| Some(Self(key))).ok_or_else(|| io::Error::other("the key for outboxes cannot be read"))
    }

    /// The key of a home folder, which is made if there is none.
    pub fn find_or_make(home: &Path) -> io::Result<Self> {
        if let Some(key) = Self::find(home)? {
            return Ok(key);
        }
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        let unfinished = home.join(format!(".{KEY_FILE}-{}", std::process::id()));
        let written =
            File::options().write(true).create_new(true).mode(0o600).open(&unfinished).and_then(|mut file| {
                file.write_all(STANDARD_NO_PAD.encode(key).as_bytes())?;
                file.sync_all()?;
                // Of two that make one at once, the first made it.
                match fs::hard_link(&unfinished, home.join(KEY_FILE)) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => Ok(()),
                }
            });
        let _ = fs::remove_file(unfinished);
        written?;
        Self::find(home)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn seal(&self, workspace: &Path, id: &str, operation: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [workspace.to_string_lossy().as_bytes(), id.as_bytes(), operation.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize()
    }
}

/// Makes the key of a home folder if there is none, so that commands in a sandbox can leave operations.
pub fn make_key(home: &Path) {
    if let Err(error) = SealingKey::find_or_make(home) {
        tracing::warn!(%error, "outboxes cannot be used: there is no key for them");
    }
}

/// Leaves an operation in the outbox of a workspace.
pub fn queue(home: &Path, workspace: &Path, operation: &Operation) -> anyhow::Result<Queued> {
    let key =
        SealingKey::find(home)?.context("the home folder has no key for outboxes yet; any command outside makes it")?;
    let outbox = Outbox::make(workspace)?;
    let operation = serde_json::to_string(operation)?;
    let random = getrandom::u32().map_err(|error| anyhow!("{error}"))?;
    // Ids sort in the order in which they were made.
    let id = format!("{:016x}-{:08x}", jiff::Timestamp::now().as_microsecond(), random);
    let seal = key.seal(workspace, &id, &operation).to_hex().to_string();
    outbox.put(&id, &serde_json::to_vec(&Sealed { operation, seal })?)?;
    Ok(Queued { id, folder: outbox.path().to_owned() })
}

/// The workspace around a folder: what a client lets a sandboxed shell write to.
pub fn workspace_of(here: &Path) -> PathBuf {
    let here = here.canonicalize().unwrap_or_else(|_| here.to_owned());
    clients::project_of(&here)
}

/// The project whose mail goes through the outbox of a workspace.
pub fn project_of(workspace: &Path) -> anyhow::Result<String> {
    let tree = Tree::around(workspace);
    // As commands name it: a server elsewhere does not see the folders here.
    if let Some(remote) = tree.as_ref().filter(|_| names_remotes()).and_then(Tree::remote) {
        return Ok(remote);
    }
    let folder = tree.map_or_else(|| workspace.to_owned(), |tree| tree.main);
    folder.into_os_string().into_string().ok().context("the path of the workspace is not Unicode")
}

impl Sealed {
    /// The operation, if the seal is right.
    fn open(content: &[u8], key: &SealingKey, workspace: &Path, id: &str) -> Result<Operation, &'static str> {
        let sealed: Self =
            serde_json::from_slice(content).map_err(|_| "it is no operation that this program writes")?;
        let seal = blake3::Hash::from_hex(&sealed.seal).map_err(|_| "its seal is none")?;
        // Takes as long for a wrong one as for the right one.
        if key.seal(workspace, id, &sealed.operation) != seal {
            return Err("it was not written by a command of this home folder for this workspace");
        }
        serde_json::from_str(&sealed.operation).map_err(|_| "it asks for something that an outbox does not carry")
    }
}

impl Operation {
    /// Sends a message.
    pub fn send(send: &SendMail) -> anyhow::Result<Self> {
        Self::of(Carried::SendMail, send)
    }

    /// Answers one.
    pub fn reply(reply: &ReplyMessage) -> anyhow::Result<Self> {
        Self::of(Carried::ReplyMessage, reply)
    }

    /// Acknowledges one.
    pub fn acknowledge(acknowledge: &AcknowledgeMessage) -> anyhow::Result<Self> {
        Self::of(Carried::AcknowledgeMessage, acknowledge)
    }

    fn of(verb: Carried, request: &impl Serialize) -> anyhow::Result<Self> {
        let Value::Object(arguments) = serde_json::to_value(request)? else { bail!("a request is an object") };
        Ok(Self { verb, arguments })
    }

    /// The operation as it is kept where it was refused: without the proof of who it is from.
    fn kept(&self) -> Value {
        let mut arguments = self.arguments.clone();
        arguments.remove("registration_token");
        json!({ "verb": self.verb, "arguments": arguments })
    }

    /// The operation as it is done: in the project of the workspace, and under a key of its own unless it has one.
    fn in_project(mut self, project: &str, id: &str) -> Self {
        self.arguments.insert("project_key".to_owned(), project.into());
        // What is acknowledged twice is acknowledged once.
        if self.verb != Carried::AcknowledgeMessage {
            let key = self.arguments.entry("idempotency_key").or_insert(Value::Null);
            if key.is_null() {
                *key = format!("outbox:{id}").into();
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn send() -> Operation {
        let (sender_name, to, subject) = ("GreenDog".to_owned(), vec!["BlueLake".to_owned()], "s".to_owned());
        let project_key = "/other".to_owned();
        Operation::send(&SendMail { project_key, sender_name, to, subject, ..SendMail::default() }).unwrap()
    }

    fn open(content: &[u8], home: &Path, workspace: &Path, id: &str) -> Result<Operation, &'static str> {
        Sealed::open(content, &SealingKey::find(home).unwrap().unwrap(), workspace, id)
    }

    #[test]
    fn an_operation_is_what_was_queued_and_nothing_that_somebody_else_wrote() {
        let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let told = queue(home.path(), workspace.path(), &send()).unwrap_err().to_string();
        assert!(told.contains("no key"), "{told}");
        SealingKey::find_or_make(home.path()).unwrap();
        let Queued { id, folder } = queue(home.path(), workspace.path(), &send()).unwrap();
        let content = fs::read(folder.join(format!("{id}.json"))).unwrap();
        assert_eq!(open(&content, home.path(), workspace.path(), &id).unwrap(), send());
        let elsewhere = tempfile::tempdir().unwrap();
        SealingKey::find_or_make(elsewhere.path()).unwrap();
        assert!(open(&content, elsewhere.path(), workspace.path(), &id).is_err(), "another home");
        assert!(open(&content, home.path(), elsewhere.path(), &id).is_err(), "another workspace");
        assert!(open(&content, home.path(), workspace.path(), "other").is_err(), "another id");
        let forged = String::from_utf8(content).unwrap().replace("BlueLake", "RedFox");
        assert!(open(forged.as_bytes(), home.path(), workspace.path(), &id).is_err(), "another recipient");
        assert!(open(b"{}", home.path(), workspace.path(), &id).is_err());
    }

    #[test]
    fn an_operation_is_done_in_the_project_of_its_workspace_and_once() {
        let done = send().in_project("/own", "7");
        assert_eq!(
            (&done.arguments["project_key"], &done.arguments["idempotency_key"]),
            (&"/own".into(), &"outbox:7".into())
        );
        assert_eq!(done.clone().in_project("/own", "8"), done, "a key of its own stays");
        let ack = Operation::acknowledge(&AcknowledgeMessage::default()).unwrap().in_project("/own", "7");
        assert_eq!((&ack.arguments["project_key"], ack.arguments.get("idempotency_key")), (&"/own".into(), None));
    }

    #[test]
    fn the_key_is_made_once_and_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let first = SealingKey::find_or_make(home.path()).unwrap();
        assert_eq!(SealingKey::find_or_make(home.path()).unwrap().0, first.0);
        let mode = fs::metadata(home.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, fs::read_dir(home.path()).unwrap().count()), (0o600, 1));
    }
}
