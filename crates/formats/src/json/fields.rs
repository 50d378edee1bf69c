//! The six types of message: the fields of each, the rule for each field, and the words that describe it.
//!
//! Declarations only; what a rule means is in `table`. The format gives the two types of request an example but no table of
//! fields. Required of them is what such a request cannot do without: who, about what, and of which kind; the examples give
//! the shapes of all the rest, none of it required.

use super::form::Form;
use super::table::{Field, Shape, optional, required};

crate::named! {
    /// The types of message that the format knows.
    pub enum Type {
        /// Delegates a task from one agent to another.
        TaskAssignment = "task_assignment",
        /// Tells that a task has been completed.
        TaskCompletion = "task_completion",
        /// Reports errors met while working on a task.
        ErrorReport = "error_report",
        /// Tells how a task goes on.
        StatusUpdate = "status_update",
        /// Asks several agents to coordinate.
        CoordinationRequest = "coordination_request",
        /// Asks for files to be reserved.
        FileReservation = "file_reservation",
    }
}

/// The name of the field that tells the type.
pub(super) const TYPE_NAME: &str = "type";

/// How urgent a task is. The place in this order is the task's `priority_value`.
const PRIORITIES: &[&str] = &["urgent", "high", "normal", "low"];

/// The tables of a message of this type (or of an unknown one), in the order in which its fields are checked and written.
pub(super) fn tables(kind: Option<Type>) -> [&'static [Field]; 2] {
    const OWN: [&[Field]; Type::ALL.len()] =
        [TASK_ASSIGNMENT, TASK_COMPLETION, ERROR_REPORT, STATUS_UPDATE, COORDINATION_REQUEST, FILE_RESERVATION];
    let own = kind.map_or(&[][..], |kind| OWN[kind as usize]);
    [BASE, own]
}

/// Declares tables of fields. What a schema says of a field is its documentation here.
macro_rules! tables {
    ($($(#[doc = $about:literal])+ $table:ident { $(#[doc = $note:literal] $field:ident: $rule:expr,)+ })+) => {
        $(
            $(#[doc = $about])+
            const $table: &[Field] = &[$(Field { name: stringify!($field), about: $note, rule: $rule }),+];
        )+
    };
}

tables! {
    /// The fields that every message has.
    BASE {
        /// The version of the format that the sender speaks.
        version: required(Shape::Form(Form::Version)),
        /// When the message was made.
        timestamp: required(Shape::Form(Form::Time)),
        /// The name of the sending agent.
        sender_id: required(Shape::Name),
        /// The id of the message.
        message_id: required(Shape::Form(Form::MessageId)),
        /// The type of the message.
        type: required(Shape::Choice(&Type::NAMES)),
    }

    /// Delegates a task from one agent to another.
    TASK_ASSIGNMENT {
        /// Id of the task.
        task_id: required(Shape::Name),
        /// The task, for a human reader.
        description: required(Shape::Text),
        /// The task in detail.
        specification: required(Shape::Object(SPECIFICATION)),
        /// Glob patterns of the files that the task affects.
        file_patterns: required(Shape::Texts),
        /// How urgent the task is.
        priority: required(Shape::Choice(PRIORITIES)),
        /// The priority as a number, from 0 for urgent to 3 for low.
        priority_value: required(Shape::PlaceOf { field: "priority", words: PRIORITIES }),
        /// Ids of the tasks that this one depends on.
        dependencies: optional(Shape::Texts),
        /// How long the task may take, in minutes.
        estimated_duration_minutes: optional(Shape::Number),
        /// When the task must be completed.
        deadline: optional(Shape::Form(Form::ZonedTime)),
        /// Whatever else there is to say about the task.
        metadata: optional(Shape::Object(TASK_METADATA)),
    }

    /// A task in detail.
    SPECIFICATION {
        /// What must hold when the task is done.
        acceptance_criteria: required(Shape::Texts),
        /// Technical constraints and requirements.
        technical_requirements: optional(Shape::Texts),
    }

    /// Where a task belongs.
    TASK_METADATA {
        /// Labels to sort tasks by.
        labels: optional(Shape::Texts),
        /// The component that the task affects.
        component: optional(Shape::Text),
        /// The epic that the task is part of.
        epic: optional(Shape::Text),
    }

    /// Tells that a task has been completed, or why it could not be.
    TASK_COMPLETION {
        /// Id of the task.
        task_id: required(Shape::Name),
        /// How far the task was completed.
        status: required(Shape::Choice(&["complete", "partial", "blocked"])),
        /// What was done.
        completion_summary: required(Shape::Text),
        /// The files that were modified.
        files_modified: required(Shape::Texts),
        /// What the tests gave.
        test_results: required(Shape::Object(TEST_RESULTS)),
        /// The errors that were met; empty if there were none.
        errors_encountered: required(Shape::List),
        /// What the next agent should be wary of.
        warnings: optional(Shape::Texts),
        /// How long the task took, in minutes.
        time_spent_minutes: optional(Shape::Number),
        /// Tasks that could follow.
        next_tasks: optional(Shape::List),
        /// Whatever else there is to say about the completion.
        metadata: optional(Shape::Object(&[])),
    }

    /// What the tests of a completed task gave.
    TEST_RESULTS {
        /// The unit tests, in numbers.
        unit_tests: optional(Shape::Object(&[])),
        /// The integration tests, in numbers.
        integration_tests: optional(Shape::Object(&[])),
    }

    /// Reports an error met while working on a task.
    ERROR_REPORT {
        /// Id of the task during which the error occurred.
        task_id: required(Shape::Name),
        /// How bad the error is.
        severity: required(Shape::Choice(&["low", "medium", "high", "blocking"])),
        /// The error itself.
        error: required(Shape::Object(ERROR_DETAIL)),
        /// What has been tried already, as texts or objects.
        attempted_solutions: optional(Shape::List),
        /// How to see the error again, step by step.
        reproduction_steps: required(Shape::Texts),
        /// Whether a human has to help.
        needs_human_intervention: required(Shape::Flag),
        /// What could resolve the error.
        suggested_actions: optional(Shape::Texts),
        /// What the error affects.
        impact: optional(Shape::Object(&[])),
        /// Logs, screenshots and other files.
        attachments: optional(Shape::List),
    }

    /// An error in detail.
    ERROR_DETAIL {
        /// A code for programs.
        code: required(Shape::Text),
        /// What happened, for a human reader.
        message: required(Shape::Text),
        /// The stack trace, if there is one.
        stack_trace: optional(Shape::Text),
        /// What was going on when it happened.
        context: optional(Shape::Object(&[])),
    }

    /// Tells how a task goes on.
    STATUS_UPDATE {
        /// Id of the task.
        task_id: required(Shape::Name),
        /// Why the update was sent.
        update_type: required(Shape::Choice(&["progress", "milestone", "blocker", "unblocker"])),
        /// How things stand, in a sentence.
        status_summary: required(Shape::Text),
        /// How far the work is.
        progress: optional(Shape::Object(PROGRESS)),
        /// Figures of any kind.
        metrics: optional(Shape::Object(&[])),
        /// What is in the way, as texts or objects; empty if nothing is.
        blockers: required(Shape::List),
        /// The milestone that comes next.
        next_milestone: optional(Shape::Text),
        /// Whatever else there is to say about the update.
        metadata: optional(Shape::Object(&[])),
    }

    /// How far the work on a task is.
    PROGRESS {
        /// How much is done, from 0 to 100.
        percentage: optional(Shape::Between(0, 100)),
        /// The steps that are done.
        completed_steps: optional(Shape::Texts),
        /// The step that is being worked on.
        current_step: optional(Shape::Text),
        /// The steps that remain.
        remaining_steps: optional(Shape::Texts),
        /// When the work will be done.
        estimated_completion: optional(Shape::Form(Form::ZonedTime)),
    }

    /// Asks several agents to coordinate.
    COORDINATION_REQUEST {
        /// What they are asked to coordinate.
        request_type: required(Shape::Choice(&["parallel_execution", "handoff", "review", "sync"])),
        /// The agents that take part.
        participants: required(Shape::Texts),
        /// What it is about.
        coordination_topic: required(Shape::Text),
        /// What they share: files, databases and the like.
        shared_resources: optional(Shape::List),
        /// When it takes place.
        schedule: optional(Shape::Object(SCHEDULE)),
        /// Over which channels they talk.
        communication_protocol: optional(Shape::Object(&[])),
        /// What must hold in the end.
        success_criteria: optional(Shape::Texts),
        /// Whatever else there is to say about the request.
        metadata: optional(Shape::Object(&[])),
    }

    /// When agents coordinate.
    SCHEDULE {
        /// When it starts.
        start_time: optional(Shape::Form(Form::Time)),
        /// How long it lasts, in minutes.
        duration_minutes: optional(Shape::Number),
        /// How often they compare notes, in minutes.
        checkpoint_interval_minutes: optional(Shape::Number),
    }

    /// Asks for files to be reserved, so that two agents do not edit the same ones.
    FILE_RESERVATION {
        /// Id of the task that the files are needed for.
        task_id: required(Shape::Name),
        /// What is asked for.
        reservation_request: required(Shape::Object(RESERVATION_REQUEST)),
        /// What would do as well.
        alternatives: optional(Shape::List),
    }

    /// Which files are asked for, how, and for how long.
    RESERVATION_REQUEST {
        /// How the files are to be reserved.
        mode: required(Shape::Choice(&["exclusive", "shared_read", "shared_write"])),
        /// Glob patterns of the files.
        file_patterns: required(Shape::Texts),
        /// For how long, in minutes.
        duration_minutes: optional(Shape::Number),
        /// Why.
        reason: optional(Shape::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_own_word_and_no_other_spelling() {
        for (kind, word) in Type::ALL.into_iter().zip(Type::NAMES) {
            assert_eq!((kind.as_str(), Type::parse(word)), (word, Some(kind)));
            assert_eq!(Type::parse(&word.to_uppercase()), None);
            assert_eq!(Type::parse(&format!("{word} ")), None);
        }
        assert_eq!(Type::ALL.len(), 6);
    }

    #[test]
    fn a_table_has_its_rules_in_order_and_says_what_each_field_is() {
        let [base, own] = tables(Some(Type::FileReservation));
        let rules =
            |table: &'static [Field]| table.iter().map(|field| (field.name, field.rule.required)).collect::<Vec<_>>();
        assert_eq!(base.last().map(|field| field.name), Some(TYPE_NAME));
        assert_eq!(rules(own), [("task_id", true), ("reservation_request", true), ("alternatives", false)]);
        assert_eq!(own[0].about.trim(), "Id of the task that the files are needed for.");
    }

    #[test]
    fn the_order_of_priorities_is_the_scale_of_the_format() {
        assert_eq!(PRIORITIES, ["urgent", "high", "normal", "low"]);
    }
}
