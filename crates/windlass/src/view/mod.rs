//! What commands print for programs. Within a schema's number fields are only added.

mod agents;
mod config;
mod cost;
mod doctor;
mod event;
mod export;
mod gc;
mod inbox;
mod issue;
mod plan;
mod queue;
mod reply;
mod report;
mod run;
mod schedule;
mod service;
mod status;
mod task;
mod why;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::{Serialize, Serializer};
use windlass_core::time::Millis;

use crate::demo::check::{self, DemoReport};
use crate::error::{self, Problem};

pub use agents::{AgentLine, Agents};
pub use config::{Checked, ConfigDefaults, ConfigKey, ConfigShow, ConfigValue, SCHEMA as CONFIG_SCHEMA};
pub use cost::{Cost, CostLine};
pub use doctor::{Check, CheckResult, Doctor};
pub use event::{EventLine, LogLine, raw_line};
pub use gc::{Gc, GcItem, SCHEMA as GC_SCHEMA};
pub use inbox::{Inbox, InboxItem, SCHEMA as INBOX_SCHEMA};
pub use issue::{BuildLine, CommentView, IssueLine, Issues, ReviewView, Show};
pub use issue::{LIST_SCHEMA as ISSUES_SCHEMA, SHOW_SCHEMA as ISSUE_SCHEMA};
pub use plan::{Plan, PlanCost, PlanLine, SCHEMA as PLAN_SCHEMA};
pub use queue::{
    FlakyTest, PauseView, Queue, QueueAlarm, QueueBuild, QueueDay, QueueEntry, QueueTest,
    SCHEMA as QUEUE_SCHEMA, SlotsView,
};
pub use reply::{ANSWER_SCHEMA, DOWN_SCHEMA, INIT_SCHEMA, NEW_SCHEMA, UP_SCHEMA};
pub use reply::{AgentFound, Answered, DownReply, InitReply, NewReply, Reply, UpReply};
pub use report::{Report, SCHEMA as REPORT_SCHEMA};
pub use run::{Run, SCHEMA as RUN_SCHEMA};
pub use schedule::{SCHEMA as SCHEDULE_SCHEMA, Schedule, ScheduleJob, ScheduleLast};
pub use service::{SCHEMA as SERVICE_SCHEMA, Service};
pub use status::{
    BacklogView, ConfigState, DaemonView, Host, SCHEMA as STATUS_SCHEMA, Status, Today, Working,
};
pub use task::{TaskLine, TaskView};
pub use why::{CrashView, Moved, SCHEMA as WHY_SCHEMA, Why};

/// A point in time as RFC 3339 has it, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(pub Millis);

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0.0) {
            Ok(at) => write!(f, "{at:.3}"),
            // Beyond the year 9999 there is no such text.
            Err(_) => write!(f, "{}", jiff::Timestamp::MAX),
        }
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for Stamp {
    fn schema_name() -> Cow<'static, str> {
        "Stamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Every kind of object that a command prints, by the name in its field `schema`.
pub fn schemas() -> BTreeMap<&'static str, Schema> {
    BTreeMap::from([
        (agents::SCHEMA, schema_for!(Agents)),
        (config::SCHEMA, schema_for!(Checked)),
        (config::SHOW_SCHEMA, schema_for!(ConfigShow)),
        (config::DEFAULTS_SCHEMA, schema_for!(ConfigDefaults)),
        (cost::SCHEMA, schema_for!(Cost)),
        (check::SCHEMA, schema_for!(DemoReport)),
        (doctor::SCHEMA, schema_for!(Doctor)),
        (error::SCHEMA, schema_for!(Problem<'static>)),
        (event::SCHEMA, schema_for!(EventLine)),
        (event::LOG_SCHEMA, schema_for!(LogLine)),
        (export::SCHEMA, schema_for!(export::ExportLine)),
        (gc::SCHEMA, schema_for!(Gc)),
        (inbox::SCHEMA, schema_for!(Inbox)),
        (issue::LIST_SCHEMA, schema_for!(Issues)),
        (issue::SHOW_SCHEMA, schema_for!(Show)),
        (plan::SCHEMA, schema_for!(Plan)),
        (queue::SCHEMA, schema_for!(Queue)),
        (reply::ANSWER_SCHEMA, schema_for!(Answered)),
        (reply::DOWN_SCHEMA, schema_for!(DownReply)),
        (reply::INIT_SCHEMA, schema_for!(InitReply)),
        (reply::NEW_SCHEMA, schema_for!(NewReply)),
        (reply::SCHEMA, schema_for!(Reply)),
        (reply::UP_SCHEMA, schema_for!(UpReply)),
        (report::SCHEMA, schema_for!(Report)),
        (run::SCHEMA, schema_for!(Run)),
        (schedule::SCHEMA, schema_for!(Schedule)),
        (service::SCHEMA, schema_for!(Service)),
        (status::SCHEMA, schema_for!(Status)),
        (why::SCHEMA, schema_for!(Why)),
    ])
}
