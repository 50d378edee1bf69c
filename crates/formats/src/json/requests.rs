//! The messages that ask others for something: to coordinate, and to keep off files.
//!
//! The format gives these two types an example but no table of fields. Required is what such a request cannot do
//! without: who, about what, and of which kind; the examples give the shapes of all the rest, none of it required.
//! Declarations only. What the rules mean is in `table`, how a record is read and written in `record`.

use serde_json::{Map, Number, Value};

use super::choice::{Mode, RequestType};
use super::form::Form;
use super::message::Base;
use super::table::{Shape, optional, required};

record! {
    /// Asks several agents to coordinate.
    CoordinationRequest {
        /// What they are asked to coordinate.
        request_type: Option<RequestType> = required(Shape::Choice(RequestType::WORDS)),
        /// The agents that take part.
        participants: Vec<String> = required(Shape::Texts),
        /// What it is about.
        coordination_topic: String = required(Shape::Text),
        /// What they share: files, databases and the like.
        shared_resources: Option<Vec<Value>> = optional(Shape::List),
        /// When it takes place.
        schedule: Option<Schedule> = optional(Shape::Object(Schedule::FIELDS)),
        /// Over which channels they talk.
        communication_protocol: Option<Map<String, Value>> = optional(Shape::Object(&[])),
        /// What must hold in the end.
        success_criteria: Option<Vec<String>> = optional(Shape::Texts),
        /// Whatever else there is to say about the request.
        metadata: Option<Map<String, Value>> = optional(Shape::Object(&[])),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// When agents coordinate.
    Schedule {
        /// When it starts.
        start_time: Option<String> = optional(Shape::Form(Form::Time)),
        /// How long it lasts, in minutes.
        duration_minutes: Option<Number> = optional(Shape::Number),
        /// How often they compare notes, in minutes.
        checkpoint_interval_minutes: Option<Number> = optional(Shape::Number),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// Asks for files to be reserved, so that two agents do not edit the same ones.
    FileReservation {
        /// Id of the task that the files are needed for.
        task_id: String = required(Shape::Name),
        /// What is asked for.
        reservation_request: Option<ReservationRequest> = required(Shape::Object(ReservationRequest::FIELDS)),
        /// What would do as well.
        alternatives: Option<Vec<Value>> = optional(Shape::List),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// Which files are asked for, how, and for how long.
    ReservationRequest {
        /// How the files are to be reserved.
        mode: Option<Mode> = required(Shape::Choice(Mode::WORDS)),
        /// Glob patterns of the files.
        file_patterns: Vec<String> = required(Shape::Texts),
        /// For how long, in minutes.
        duration_minutes: Option<Number> = optional(Shape::Number),
        /// Why.
        reason: Option<String> = optional(Shape::Text),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}
