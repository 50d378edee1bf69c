//! `postrider monitor`: a line on standard output whenever mail wakes a session, for a plugin that puts it before the session.
//!
//! A line that somebody reads counts as delivered; nobody else wakes the session for that mail. It ends with whoever reads it, and prints
//! nothing else.

use std::cell::{Cell, RefCell};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use relay::sessions::{SessionRecord, Sessions};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::time::sleep;

use crate::clients::{self, Client};
use crate::config::{Config, set};
use crate::own_session;
use crate::post_office::{self, PostOffice};
use crate::waker::{Asked, By, Reach, Search, Waker, inside};

/// How often it is looked whether anybody still reads.
const LOOK_FOR_READER: Duration = Duration::from_secs(1);

/// Print a line whenever mail wakes a session
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Monitor {
    /// The client of the session
    #[arg(value_parser = clients::parser(|client| client.product))]
    client: &'static Client,
    /// The session, as its client calls it [default: the one that this runs in]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

const AFTER_HELP: &str = "\
A plugin of the client runs this beside a session and puts each line before it. A line says how many messages wait, from whom,
and how to read them; a line that was read counts as delivered. Which mail wakes a session is set by `for` under [wake].

Example:
  postrider monitor claude";

impl Monitor {
    /// Prints lines until nobody reads them.
    pub fn run(self, config: Config) -> anyhow::Result<ExitCode> {
        let found = FoundSession {
            client: self.client,
            id: self.session,
            home: config.home.clone(),
            office: config.url(),
            known: Cell::default(),
            search: RefCell::default(),
        };
        let reach = Reach::new(&config.home, Default::default());
        post_office::run(async {
            let post_office = PostOffice::open_to_stay(config).await?;
            let sessions = reach.sessions().clone();
            let find = move || found.now(&sessions);
            let waker = Waker { asked: Asked::Through((*post_office).clone()), reach, by: By::Printing, find };
            tokio::select! {
                () = waker.run() => {}
                () = until_nobody_reads() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            post_office.close().await;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// The session that is meant, by its id or by where this runs: it may not be known yet, and may become another.
struct FoundSession {
    client: &'static Client,
    id: Option<String>,
    home: PathBuf,
    office: Option<String>,
    /// What the session that was found last is called.
    known: Cell<Option<String>>,
    search: RefCell<Search>,
}

impl FoundSession {
    fn now(&self, sessions: &Sessions) -> Option<SessionRecord> {
        let named = || self.client.session_variables.iter().find_map(|variable| set(variable));
        let stored = |id: String| sessions.stored(self.client.name, &id);
        let is_meant = |record: &SessionRecord| {
            let is_here = record.client == self.client.name && record.office == self.office;
            is_here && !record.agent.is_empty() && record.is_open()
        };
        let searched = || {
            let is_due = self.search.borrow_mut().is_due(sessions, Instant::now());
            is_due.then(|| own_session::of_client(&self.home)).flatten()
        };
        let record = match &self.id {
            Some(id) => stored(id.clone()),
            None => {
                let again = self.known.take().and_then(stored).filter(is_meant);
                again.or_else(searched).or_else(|| stored(named()?))
            }
        };
        let record = record.filter(is_meant)?;
        self.known.set(Some(record.session_id.clone()));
        Some(inside(sessions, record))
    }
}

/// Comes back when the other end of standard output is closed.
async fn until_nobody_reads() {
    let stdout = std::io::stdout();
    loop {
        let mut ends = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty())];
        let is_closed = poll(&mut ends, Some(&rustix::event::Timespec::default())).is_ok()
            && ends[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
        if is_closed {
            return;
        }
        sleep(LOOK_FOR_READER).await;
    }
}
