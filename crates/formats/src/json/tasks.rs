//! The messages about a task's beginning and end: its assignment, and its completion.
//!
//! Declarations only. What the rules mean is in `table`, how a record is read and written in `record`.

use serde_json::{Map, Number, Value};

use super::choice::{Priority, Status};
use super::form::Form;
use super::message::Base;
use super::table::{Shape, optional, required};

record! {
    /// Delegates a task from one agent to another.
    TaskAssignment {
        /// Id of the task.
        task_id: String = required(Shape::Name),
        /// The task, for a human reader.
        description: String = required(Shape::Text),
        /// The task in detail.
        specification: Option<Specification> = required(Shape::Object(Specification::FIELDS)),
        /// Glob patterns of the files that the task affects.
        file_patterns: Vec<String> = required(Shape::Texts),
        /// How urgent the task is.
        priority: Option<Priority> = required(Shape::Choice(Priority::WORDS)),
        /// The priority as a number, from 0 for urgent to 3 for low.
        priority_value: Option<Number> = required(Shape::PlaceOf { field: "priority", words: Priority::WORDS }),
        /// Ids of the tasks that this one depends on.
        dependencies: Option<Vec<String>> = optional(Shape::Texts),
        /// How long the task may take, in minutes.
        estimated_duration_minutes: Option<Number> = optional(Shape::Number),
        /// When the task must be completed.
        deadline: Option<String> = optional(Shape::Form(Form::Time)),
        /// Whatever else there is to say about the task.
        metadata: Option<TaskMetadata> = optional(Shape::Object(TaskMetadata::FIELDS)),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// A task in detail.
    Specification {
        /// What must hold when the task is done.
        acceptance_criteria: Vec<String> = required(Shape::Texts),
        /// Technical constraints and requirements.
        technical_requirements: Option<Vec<String>> = optional(Shape::Texts),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// Where a task belongs.
    TaskMetadata {
        /// Labels to sort tasks by.
        labels: Option<Vec<String>> = optional(Shape::Texts),
        /// The component that the task affects.
        component: Option<String> = optional(Shape::Text),
        /// The epic that the task is part of.
        epic: Option<String> = optional(Shape::Text),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// Tells that a task has been completed, or why it could not be.
    TaskCompletion {
        /// Id of the task.
        task_id: String = required(Shape::Name),
        /// How far the task was completed.
        status: Option<Status> = required(Shape::Choice(Status::WORDS)),
        /// What was done.
        completion_summary: String = required(Shape::Text),
        /// The files that were modified.
        files_modified: Vec<String> = required(Shape::Texts),
        /// What the tests gave.
        test_results: Option<TestResults> = required(Shape::Object(TestResults::FIELDS)),
        /// The errors that were met; empty if there were none.
        errors_encountered: Vec<Value> = required(Shape::List),
        /// What the next agent should be wary of.
        warnings: Option<Vec<String>> = optional(Shape::Texts),
        /// How long the task took, in minutes.
        time_spent_minutes: Option<Number> = optional(Shape::Number),
        /// Tasks that could follow.
        next_tasks: Option<Vec<Value>> = optional(Shape::List),
        /// Whatever else there is to say about the completion.
        metadata: Option<Map<String, Value>> = optional(Shape::Object(&[])),
    }
    /// The fields that every message has.
    base: Base
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}

record! {
    /// What the tests of a completed task gave.
    TestResults {
        /// The unit tests, in numbers.
        unit_tests: Option<Map<String, Value>> = optional(Shape::Object(&[])),
        /// The integration tests, in numbers.
        integration_tests: Option<Map<String, Value>> = optional(Shape::Object(&[])),
    }
    /// Unknown fields, and values that are not of their field's type.
    extra: Map<String, Value>
}
