//! Agents that talk in a channel, some of whom know nothing of us.

use formats::channel::ChannelMessage;
use mail::channels::{ChannelStore, FOLDER, Post};
use mail::messages::{Message, MessageStore, Role};
use mail::office::{Arrival, Claim, Draft, Identity, PostDraft, ReplyDraft, Rules, TakenIn};

use crate::shop::{PROJECT, Shop, draft, named, shop};

/// A shop whose agents are called as in most channels.
pub async fn talking() -> Shop {
    let shop = shop(Rules::default()).await;
    for name in ["claude", "codex", "codex-2", "gemini"] {
        shop.office.register(named(Some(name), None)).await.unwrap();
    }
    shop
}

pub fn strict() -> Rules {
    Rules { identity: Identity::Strict, ..Rules::default() }
}

pub fn post<'a>(from: &'a str, to: &[&str], text: &'a str) -> PostDraft<'a> {
    PostDraft {
        project_key: PROJECT,
        from: Claim::of(from),
        channel: "dev",
        to: to.iter().map(|name| (*name).to_owned()).collect(),
        subject: None,
        text,
        code: None,
        artifacts: Vec::new(),
        kind: "chat",
        mode: "chat",
        in_reply_to: None,
        thread: None,
        idempotency_key: None,
        door: "test",
    }
}

pub fn to<'a>(names: &[&str], from: &'a str) -> Draft<'a> {
    Draft { to: names.iter().map(|name| (*name).to_owned()).collect(), ..draft(from, None) }
}

pub fn reply<'a>(from: &'a str, question: &Message) -> ReplyDraft<'a> {
    ReplyDraft { reply_to: question.id, subject: None, draft: to(&[], from) }
}

/// What a foreign agent says, who calls it `mine`.
pub fn said(from: &str, to: &str, text: &str) -> ChannelMessage {
    ChannelMessage {
        id: "mine".into(),
        timestamp: "2026-01-11T16:33:15.123Z".parse().unwrap(),
        session_id: "dev".into(),
        from: from.into(),
        to: to.into(),
        kind: "chat".into(),
        text: text.into(),
        ..ChannelMessage::default()
    }
}

pub async fn arrive(shop: &Shop, name: &str, said: &ChannelMessage) -> TakenIn {
    take_in(shop, name, said, FOLDER).await
}

pub async fn take_in(shop: &Shop, name: &str, said: &ChannelMessage, door: &'static str) -> TakenIn {
    try_take_in(shop, name, said, door).await.unwrap()
}

pub async fn try_take_in(
    shop: &Shop,
    name: &str,
    said: &ChannelMessage,
    door: &'static str,
) -> Result<TakenIn, mail::Error> {
    let document = said.to_json();
    let arrival = Arrival { project_key: PROJECT, channel: "dev", name, said, document: &document, door };
    shop.office.take_in(arrival).await
}

pub async fn kept(shop: &Shop, message: &Message) -> Post {
    shop.store.post(message.id).await.unwrap().expect("it is a post")
}

pub async fn deliveries(shop: &Shop, message: &Message) -> Vec<(String, Role)> {
    let deliveries = shop.store.deliveries(message.id).await.unwrap();
    deliveries.into_iter().map(|delivery| (delivery.recipient, delivery.role)).collect()
}
