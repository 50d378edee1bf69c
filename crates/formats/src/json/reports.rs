//! The messages from the middle of a task: an error, and how the work goes on.
//!
//! Declarations, and the questions that a reader of reports asks most. What the rules mean is in `table`, how a record is
//! read and written in `record`.

use serde_json::{Map, Number, Value};

use super::choice::{Severity, UpdateType};
use super::form::Form;
use super::message::Base;
use super::table::{Shape, optional, required};

record! {
    /// Reports an error met while working on a task.
    ErrorReport {
        /// Id of the task during which the error occurred.
        task_id: String = required(Shape::Name),
        /// How bad the error is.
        severity: Option<Severity> = required(Shape::Choice(Severity::WORDS)),
        /// The error itself.
        error: Option<ErrorDetail> = required(Shape::Object(ErrorDetail::FIELDS)),
        /// What has been tried already, as texts or objects.
        attempted_solutions: Option<Vec<Value>> = optional(Shape::List),
        /// How to see the error again, step by step.
        reproduction_steps: Vec<String> = required(Shape::Texts),
        /// Whether a human has to help.
        needs_human_intervention: Option<bool> = required(Shape::Flag),
        /// What could resolve the error.
        suggested_actions: Option<Vec<String>> = optional(Shape::Texts),
        /// What the error affects.
        impact: Option<Map<String, Value>> = optional(Shape::Object(&[])),
        /// Logs, screenshots and other files.
        attachments: Option<Vec<Value>> = optional(Shape::List),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

impl ErrorReport {
    /// The error's code for programs; empty if it has none.
    pub fn code(&self) -> &str {
        self.error.as_ref().map_or("", |error| &error.code)
    }

    /// The error's message for humans; empty if it has none.
    pub fn message(&self) -> &str {
        self.error.as_ref().map_or("", |error| &error.message)
    }

    /// Whether the sender asks for a human.
    pub fn needs_human_intervention(&self) -> bool {
        self.needs_human_intervention == Some(true)
    }

    /// What the sender suggests; empty if nothing.
    pub fn suggested_actions(&self) -> &[String] {
        self.suggested_actions.as_deref().unwrap_or_default()
    }
}

record! {
    /// An error in detail.
    ErrorDetail {
        /// A code for programs.
        code: String = required(Shape::Text),
        /// What happened, for a human reader.
        message: String = required(Shape::Text),
        /// The stack trace, if there is one.
        stack_trace: Option<String> = optional(Shape::Text),
        /// What was going on when it happened.
        context: Option<Map<String, Value>> = optional(Shape::Object(&[])),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// Tells how a task goes on.
    StatusUpdate {
        /// Id of the task.
        task_id: String = required(Shape::Name),
        /// Why the update was sent.
        update_type: Option<UpdateType> = required(Shape::Choice(UpdateType::WORDS)),
        /// How things stand, in a sentence.
        status_summary: String = required(Shape::Text),
        /// How far the work is.
        progress: Option<Progress> = optional(Shape::Object(Progress::FIELDS)),
        /// Figures of any kind.
        metrics: Option<Map<String, Value>> = optional(Shape::Object(&[])),
        /// What is in the way, as texts or objects; empty if nothing is.
        blockers: Vec<Value> = required(Shape::List),
        /// The milestone that comes next.
        next_milestone: Option<String> = optional(Shape::Text),
        /// Whatever else there is to say about the update.
        metadata: Option<Map<String, Value>> = optional(Shape::Object(&[])),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

impl StatusUpdate {
    /// How much is done, in percent; `None` if the update does not say so or says what cannot be.
    pub fn percentage(&self) -> Option<f64> {
        let percentage = self.progress.as_ref()?.percentage.as_ref()?.as_f64()?;
        (f64::from(NOTHING_DONE)..=f64::from(ALL_DONE)).contains(&percentage).then_some(percentage)
    }

    /// What is being worked on.
    pub fn current_step(&self) -> Option<&str> {
        self.progress.as_ref()?.current_step.as_deref()
    }

    /// The blockers as lines to show: a text as it is, anything else as JSON.
    pub fn blocker_lines(&self) -> Vec<String> {
        self.blockers
            .iter()
            .map(|blocker| blocker.as_str().map_or_else(|| blocker.to_string(), str::to_owned))
            .collect()
    }
}

const NOTHING_DONE: i32 = 0;
const ALL_DONE: i32 = 100;

record! {
    /// How far the work on a task is.
    Progress {
        /// How much is done, from 0 to 100.
        percentage: Option<Number> = optional(Shape::Between(NOTHING_DONE, ALL_DONE)),
        /// The steps that are done.
        completed_steps: Option<Vec<String>> = optional(Shape::Texts),
        /// The step that is being worked on.
        current_step: Option<String> = optional(Shape::Text),
        /// The steps that remain.
        remaining_steps: Option<Vec<String>> = optional(Shape::Texts),
        /// When the work will be done.
        estimated_completion: Option<String> = optional(Shape::Form(Form::Time)),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::record::Content;
    use super::*;

    fn update(value: Value) -> StatusUpdate {
        StatusUpdate::read(value).unwrap()
    }

    #[test]
    fn a_percentage_is_told_only_within_its_range() {
        let told = |percentage: Value| update(json!({"progress": {"percentage": percentage}})).percentage();
        assert_eq!((told(json!(0)), told(json!(99.5)), told(json!(100))), (Some(0.0), Some(99.5), Some(100.0)));
        assert_eq!((told(json!(-1)), told(json!(100.1)), told(json!("70"))), (None, None, None));
        assert_eq!(update(json!({})).percentage(), None);
    }

    #[test]
    fn a_blocker_of_any_shape_makes_a_line() {
        let blocked = update(json!({"blockers": ["waiting for bd-41", {"id": "bd-2"}]}));
        assert_eq!(blocked.blocker_lines(), ["waiting for bd-41", r#"{"id":"bd-2"}"#]);
    }

    #[test]
    fn an_error_report_without_its_parts_answers_with_nothing() {
        let report = ErrorReport::default();
        assert_eq!((report.code(), report.message(), report.suggested_actions()), ("", "", &[][..]));
        assert!(!report.needs_human_intervention());
        let report = ErrorReport::read(json!({"error": {"code": "E"}, "needs_human_intervention": true})).unwrap();
        assert_eq!((report.code(), report.message(), report.needs_human_intervention()), ("E", "", true));
    }
}
