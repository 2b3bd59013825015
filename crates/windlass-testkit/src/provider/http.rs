//! As much HTTP as an agent's requests need.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

#[derive(Debug)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
}

impl Request {
    /// The next request; `None` at the end of the connection.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            from.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
                _ => {}
            }
        }
        let body = if chunked { read_chunks(from)? } else { read_exactly(from, length)? };
        Ok(Some(Self { method, path, body }))
    }
}

fn read_exactly(from: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        body.extend(read_exactly(from, size)?);
        from.read_line(&mut line)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// One whole answer.
pub(super) fn json(
    to: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(
        to,
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{more}\r\n{body}",
        body.len()
    )?;
    to.flush()
}

/// The beginning of a stream of events.
pub(super) fn begin_events(to: &mut impl Write) -> io::Result<()> {
    write!(to, "HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
}

pub(super) fn event(to: &mut impl Write, data: &Value) -> io::Result<()> {
    let kind = data["type"].as_str().unwrap_or_default();
    let text = format!("event: {kind}\ndata: {data}\n\n");
    write!(to, "{:x}\r\n{text}\r\n", text.len())?;
    to.flush()
}

pub(super) fn end_events(to: &mut impl Write) -> io::Result<()> {
    write!(to, "0\r\n\r\n")?;
    to.flush()
}

/// Says nothing until the client gives up.
pub(super) fn wait_for_end(from: &mut impl Read) -> io::Result<()> {
    io::copy(from, &mut io::sink())?;
    Err(io::ErrorKind::ConnectionAborted.into())
}
