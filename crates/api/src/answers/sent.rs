//! What a sender is told of its message.
//!
//! A caller that said who it is gets what it does not know: it has just written the text, and pays for every copy.

use mail::office::{RecipientStanding, Resolved, Secret, Sent};

use super::{FilesAnswer, MessageAnswer, ProblemAnswer, Word};
use crate::Time;

declare! {
    /// What a sender is told: the message, and its content once more where older clients look for it.
    SentAnswer {
        /// The message, without its body, which the sender knows.
        #[serde(flatten)]
        message: MessageAnswer,
        /// The blind copies.
        bcc[if_any]: Vec<String>,
        /// How many agents it was delivered to.
        count: usize,
        /// The project that it went to, if that is not the sender's own.
        project[if_any]: Option<String>,
        /// What the addresses among the recipients stood for.
        addresses[if_any]: Vec<AddressAnswer>,
        /// How recipients stand, but for those who are awake; of many the first few.
        standing[if_any]: Vec<StandingAnswer>,
        /// What became of the files that it asks for.
        reservation[if_any]: Option<FilesAnswer>,
        /// What its sender should think about.
        warnings[if_any]: Vec<WarningAnswer>,
        /// One entry, whose payload is the message with its body.
        deliveries[if_any]: Vec<DeliveryAnswer>,
    }

    /// The same for a caller that said who it is: nothing that it wrote itself.
    BriefAnswer {
        /// Its number.
        id: i64,
        /// Whom it is written to.
        to: Vec<String>,
        /// Who got a copy.
        cc[if_any]: Vec<String>,
        /// The blind copies.
        bcc[if_any]: Vec<String>,
        /// The conversation.
        thread_id: String,
        /// When it was accepted.
        created_ts: Time,
        /// Whether an acknowledgement is asked for.
        ack_required[if_any]: bool,
        /// What kind of typed message it is.
        kind[if_any]: Option<Word>,
        /// The work item that it is about.
        work_id[if_any]: Option<String>,
        /// What is wrong with it as a typed message.
        problems[if_any]: Vec<ProblemAnswer>,
        /// The project that it went to, if that is not the sender's own.
        project[if_any]: Option<String>,
        /// What the addresses among the recipients stood for.
        addresses[if_any]: Vec<AddressAnswer>,
        /// How recipients stand, but for those who are awake; of many the first few.
        standing[if_any]: Vec<StandingAnswer>,
        /// What became of the files that it asks for.
        reservation[if_any]: Option<FilesAnswer>,
        /// What its sender should think about.
        warnings[if_any]: Vec<WarningAnswer>,
    }

    /// What an address stood for when the message was sent.
    #[derive(PartialEq)]
    AddressAnswer::new(resolved: Resolved) {
        /// The address.
        address: String = resolved.address,
        /// Who got it; nobody while it waits for somebody to take the role.
        names: Vec<String> = resolved.names,
    }

    /// How somebody stands who is not awake.
    #[derive(PartialEq)]
    StandingAnswer::new(one: RecipientStanding) {
        /// The name.
        name: String = one.name,
        /// `idle`, `asleep`, `never seen` or `retired`.
        standing: Word = one.standing.as_str().into(),
        /// Since when.
        since_ts[if_any]: Option<Time> = one.since.map(Time),
        /// Who is awake and could be asked instead.
        instead[if_any]: Option<String> = one.instead,
    }

    /// Something that a sender should think about.
    #[derive(PartialEq)]
    WarningAnswer::new(secret: &Secret) {
        /// A stable code.
        code: Word = "SECRET_SUSPECTED".into(),
        /// The fact.
        message: String = secret.to_string(),
        /// The next thing to do.
        hint: Word = "Mail is kept for good: if this is a real secret, change it.".into(),
    }

    /// One entry of what was delivered.
    #[derive(PartialEq)]
    DeliveryAnswer {
        /// The path of the project.
        project: String,
        /// What was delivered.
        payload: Payload,
    }

    /// The content of a message.
    #[derive(PartialEq)]
    Payload {
        /// Its number.
        id: i64,
        /// The subject.
        subject: String,
        /// The body.
        body_md: String,
        /// When it was accepted.
        created_ts: Time,
    }
}

impl SentAnswer {
    pub(crate) fn new(sent: Sent) -> Self {
        let Sent { mut message, project_key, bcc, notes, reservation, resolved, standing, other_project, .. } = sent;
        // The sender is told of all, also of what is wrong with Markdown.
        message.problems = notes.problems;
        let payload = Payload {
            id: message.id.0,
            subject: message.subject.clone(),
            body_md: std::mem::take(&mut message.body),
            created_ts: Time(message.created_at),
        };
        Self {
            count: message.open_recipients().count() + bcc.len(),
            message: MessageAnswer::new(message, false),
            bcc,
            project: other_project,
            addresses: resolved.into_iter().map(AddressAnswer::new).collect(),
            standing: standing.into_iter().map(StandingAnswer::new).collect(),
            reservation: reservation.and_then(FilesAnswer::read),
            warnings: notes.secrets.iter().map(WarningAnswer::new).collect(),
            deliveries: vec![DeliveryAnswer { project: project_key, payload }],
        }
    }

    /// What a caller is told that said who it is.
    pub(crate) fn brief(&self) -> BriefAnswer {
        let message = &self.message;
        BriefAnswer {
            id: message.id,
            to: message.to.clone(),
            cc: message.cc.clone(),
            bcc: self.bcc.clone(),
            thread_id: message.thread_id.clone(),
            created_ts: message.created_ts,
            ack_required: message.ack_required,
            kind: message.kind.clone(),
            work_id: message.work_id.clone(),
            problems: message.problems.clone(),
            project: self.project.clone(),
            addresses: self.addresses.clone(),
            standing: self.standing.clone(),
            reservation: self.reservation.clone(),
            warnings: self.warnings.clone(),
        }
    }
}
