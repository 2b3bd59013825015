//! How the screen looks. Says nothing that is not on the board.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Row as Cells, Table, TableState, Wrap};
use windlass_core::session::Light;

use super::app::{App, Mode, Pane};
use super::board::{Board, Row, Tone};
use crate::commands::status::why_paused;
use crate::out::Style;
use crate::text::age;

const HELP: &str = "1-6     panes: work, agents, queue, issues, events, log of the daemon
j k     next row, row before; g G first, last
/       filter the rows; enter keeps it, esc clears it
enter w why the row's issue is where it is, and what would bring it on
l       what the row's agent says and does
p       pause or resume: paused, nothing new is started
q       leave; the factory works on
any key closes this";

pub fn draw(frame: &mut Frame<'_>, app: &App, board: &Board, style: Style) {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [head, tabs, body, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(heading(board), head);
    frame.render_widget(pane_names(app, style), tabs);
    table(frame, body, app, board, style);
    match &app.mode {
        Mode::Browse | Mode::Filter => {}
        Mode::Help => over(frame, body, "keys", HELP.lines().map(str::to_owned).collect()),
        Mode::Text { lines, from } => over(frame, body, "why", lines.iter().skip(*from).cloned().collect()),
    }
    frame.render_widget(footer(app), foot);
}

fn heading(board: &Board) -> Line<'static> {
    let status = &board.status;
    let daemon = match (status.daemon.state, status.daemon.started_at) {
        ("up", Some(at)) => format!("up {}", age(board.at, at.0)),
        (word, _) => word.to_owned(),
    };
    let mut text = format!(
        "{} · {} · {daemon} · {} of {} slots · {} merged today",
        status.project,
        status.branch,
        status.working.tasks.iter().filter(|task| task.light != Some(Light::Stopped)).count(),
        status.working.slots,
        status.today.merged
    );
    if status.paused {
        text.insert_str(0, &format!("PAUSED{} · ", why_paused(status)));
    }
    if !status.inbox.is_empty() {
        text.insert_str(0, &format!("NEEDS YOU {} · ", status.inbox.len()));
    }
    Line::from(Span::styled(text, Look::new().add_modifier(Modifier::BOLD)))
}

fn pane_names(app: &App, style: Style) -> Line<'static> {
    let mut spans = Vec::new();
    for (nth, pane) in Pane::ALL.into_iter().enumerate() {
        let mut name = format!(" {} {} ", nth + 1, pane.word());
        if let (Pane::Log, Some(issue)) = (pane, app.log_of) {
            name = format!(" {} log of #{issue} ", nth + 1);
        }
        let chosen = pane == app.pane;
        // Without colours the brackets say which one it is.
        let name = if chosen { format!("[{}]", name.trim()) } else { name };
        let look = if chosen { tint(style, Color::Cyan) } else { Look::new() };
        spans.push(Span::styled(name, look));
    }
    Line::from(spans)
}

fn table(frame: &mut Frame<'_>, area: Rect, app: &App, board: &Board, style: Style) {
    let visible = app.visible(board);
    if visible.is_empty() {
        let nothing = if app.filter.is_empty() { "nothing here" } else { "nothing here fits the filter" };
        frame.render_widget(Paragraph::new(nothing), area);
        return;
    }
    let look = |row: &Row| match row.tone {
        Tone::Plain => Look::new(),
        Tone::NeedsYou => tint(style, Color::Red),
        Tone::Faint => Look::new().add_modifier(Modifier::DIM),
    };
    let rows = visible.iter().map(|row| Cells::new(row.cells.clone()).style(look(row)));
    let heading = Cells::new(board.heading.clone()).style(Look::new().add_modifier(Modifier::DIM));
    let table = Table::new(rows, widths(&board.heading, &visible))
        .header(heading)
        .highlight_symbol("> ")
        .row_highlight_style(Look::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(Some(app.row.min(visible.len() - 1)));
    frame.render_stateful_widget(table, area, &mut state);
}

/// As wide as what stands in them; the last takes what is left.
fn widths(heading: &[&str], rows: &[&Row]) -> Vec<Constraint> {
    let width = |column: usize, name: &str| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column)).map(|cell| cell.chars().count());
        cells.chain([name.chars().count()]).max().unwrap_or(0)
    };
    let last = heading.len().saturating_sub(1);
    let columns = heading.iter().enumerate().map(|(column, name)| {
        let width = u16::try_from(width(column, name)).unwrap_or(u16::MAX);
        if column == last { Constraint::Min(10) } else { Constraint::Length(width.min(48)) }
    });
    columns.collect()
}

fn over(frame: &mut Frame<'_>, area: Rect, title: &'static str, lines: Vec<String>) {
    let lines: Vec<Line<'_>> = lines.into_iter().map(Line::from).collect();
    frame.render_widget(Clear, area);
    let text = Paragraph::new(lines).wrap(Wrap { trim: false }).block(Block::bordered().title(title));
    frame.render_widget(text, area);
}

fn footer(app: &App) -> Line<'static> {
    let keys = "1-6 panes  j/k rows  / filter  enter why  l log  p pause  ? help  q quit";
    Line::from(match (&app.said, &app.mode) {
        (Some(said), _) => said.clone(),
        (None, Mode::Filter) => format!("/{}", app.filter),
        (None, Mode::Text { .. } | Mode::Help) => "j/k scroll, any other key closes".to_owned(),
        (None, Mode::Browse) if app.filter.is_empty() => keys.to_owned(),
        (None, Mode::Browse) => format!("filter: {}  (esc clears it)", app.filter),
    })
}

fn tint(style: Style, color: Color) -> Look {
    if style.is_colored() { Look::new().fg(color) } else { Look::new().add_modifier(Modifier::BOLD) }
}
