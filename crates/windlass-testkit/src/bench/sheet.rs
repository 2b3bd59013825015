//! What a benchmark hands back: figures, the goals that they are held to, and both as text and as JSON.

use serde_json::{Map, Value, json};

pub const SCHEMA: &str = "windlass.bench/1";

#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    pub bench: String,
    pub figures: Vec<Figure>,
    pub goals: Vec<Goal>,
    /// Figures of many weathers, in JSON as `figures.rows`.
    pub rows: Vec<Value>,
    /// The same for people, above the figures.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub name: String,
    pub value: f64,
    /// What was measured, in one line for people.
    pub what: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub figure: String,
    pub op: Op,
    pub value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    AtMost,
    AtLeast,
    Below,
}

impl Op {
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Below => "<",
        }
    }

    /// What could not be measured meets no goal: no comparison holds for NaN.
    pub fn holds(self, measured: f64, goal: f64) -> bool {
        match self {
            Self::AtMost => measured <= goal,
            Self::AtLeast => measured >= goal,
            Self::Below => measured < goal,
        }
    }
}

impl Sheet {
    pub fn new(bench: &str) -> Self {
        Self {
            bench: bench.to_owned(),
            figures: Vec::new(),
            goals: Vec::new(),
            rows: Vec::new(),
            text: String::new(),
        }
    }

    pub fn figure(&mut self, name: &str, value: f64, what: &str) {
        self.figures.push(Figure { name: name.to_owned(), value: rounded(value), what: what.to_owned() });
    }

    pub fn figure_with_goal(&mut self, name: &str, value: f64, op: Op, goal: f64, what: &str) {
        self.figure(name, value, what);
        self.goals.push(Goal { figure: name.to_owned(), op, value: goal });
    }

    pub fn append(&mut self, part: Self) {
        self.figures.extend(part.figures);
        self.goals.extend(part.goals);
        self.rows.extend(part.rows);
        self.text.push_str(&part.text);
    }

    /// A goal for a figure that is not there is not met.
    pub fn met(&self, goal: &Goal) -> bool {
        let figure = self.figures.iter().find(|figure| figure.name == goal.figure);
        figure.is_some_and(|figure| goal.op.holds(figure.value, goal.value))
    }

    pub fn all_met(&self) -> bool {
        self.goals.iter().all(|goal| self.met(goal))
    }

    pub fn json(&self) -> Value {
        let mut figures: Map<String, Value> =
            self.figures.iter().map(|figure| (figure.name.clone(), json!(figure.value))).collect();
        if !self.rows.is_empty() {
            figures.insert("rows".into(), json!(self.rows));
        }
        let goals: Vec<Value> = self
            .goals
            .iter()
            .map(|goal| {
                json!({"figure": goal.figure, "op": goal.op.sign(), "value": goal.value, "met": self.met(goal)})
            })
            .collect();
        json!({"schema": SCHEMA, "bench": self.bench, "figures": figures, "goals": goals})
    }

    pub fn table(&self) -> String {
        let width = |text: fn(&Figure) -> usize| self.figures.iter().map(text).max().unwrap_or(0);
        let names = width(|figure| figure.name.len());
        let mut out = self.text.clone();
        for figure in &self.figures {
            let goal = self.goals.iter().find(|goal| goal.figure == figure.name);
            let verdict = goal.map_or_else(String::new, |goal| {
                let word = if self.met(goal) { "met" } else { "MISSED" };
                format!("{} {} {word}", goal.op.sign(), goal.value)
            });
            let line =
                format!("{:<names$}  {:>10}  {verdict:<16}  {}", figure.name, figure.value, figure.what);
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// Three digits after the point: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
