//! Limits of the machine: a person sets them in the user's file, and a repository may only tighten them.

/// On which side of a host's limit a project may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tighter {
    Less,
    More,
}

/// Whether `wanted` allows more than `limit` does. Only limits can be loosened.
pub fn loosens(key: &str, limit: &toml::Value, wanted: &toml::Value) -> bool {
    let (Some(tighter), Some(limit), Some(wanted)) = (tighter(key), number(key, limit), number(key, wanted))
    else {
        return false;
    };
    match tighter {
        Tighter::Less => wanted > limit,
        Tighter::More => wanted < limit,
    }
}

/// Whether the host's word on this key is a limit.
pub fn is_limit(key: &str) -> bool {
    tighter(key).is_some()
}

fn tighter(key: &str) -> Option<Tighter> {
    match key {
        "dispatch.parallel" | "dispatch.max_open_changes" | "ci.slots" => Some(Tighter::Less),
        _ if key.starts_with("budget.") || key.starts_with("limits.") => Some(Tighter::Less),
        _ if key.starts_with("guards.") => Some(Tighter::More),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are small numbers")]
fn number(key: &str, value: &toml::Value) -> Option<f64> {
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64))?;
    // There, nothing is no limit at all.
    Some(if key.starts_with("limits.") && number == 0.0 { f64::INFINITY } else { number })
}
