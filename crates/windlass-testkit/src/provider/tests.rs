//! The scripted provider as a plain client sees it.

use std::io::{Read, Write};

use super::*;

fn post(provider: &Provider, path: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, provider.port)).unwrap();
    let body = body.to_string();
    write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

fn ask(text: &str) -> Value {
    json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": text}]})
}

#[test]
fn each_agent_is_answered_by_its_own_script() {
    let provider = Provider::start().unwrap();
    provider.script("one", [Step::bash("ls"), Step::fail(529, "too much")]);
    provider.script("two", [Step::say("hello")]);
    let first = post(&provider, "/s/one/v1/messages?beta=true", &ask("a"));
    assert!(first.contains("partial_json") && first.contains("message_stop"), "{first}");
    let second = post(&provider, "/s/one/v1/messages", &ask("b"));
    assert!(second.starts_with("HTTP/1.1 529") && second.contains("overloaded_error"), "{second}");
    assert!(post(&provider, "/s/two/v1/messages", &ask("c")).contains("hello"));
    let aside = json!({"model": "m", "messages": []});
    assert!(post(&provider, "/s/two/v1/messages", &aside).contains("an aside"));
    let asked = provider.wait_asked("one", 2);
    assert_eq!(asked[1].messages(), [("user".to_owned(), "b".to_owned())]);
    assert_eq!((provider.asked("two").len(), provider.left("one")), (1, 0));
}

#[test]
fn codex_is_answered_in_its_own_words() {
    let provider = Provider::start().unwrap();
    provider.script("one", [Step::tool("exec_command", json!({"cmd": "ls"})), Step::say("hello")]);
    let item = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]});
    let ask = json!({"model": "m", "stream": true, "prompt_cache_key": "t-1", "input": [item]});
    let first = post(&provider, "/s/one/v1/responses", &ask);
    assert!(first.contains("function_call") && first.contains("response.completed"), "{first}");
    assert!(post(&provider, "/s/one/v1/responses", &ask).contains("output_text"));
    let asked = provider.wait_asked("one", 2);
    assert_eq!(asked[0].messages(), [("user".to_owned(), "a".to_owned())]);
    assert_eq!(asked[1].conversation(), "t-1");
}

#[test]
fn a_hang_ends_when_the_client_goes() {
    let provider = Provider::start().unwrap();
    provider.script("one", [Step::Hang]);
    assert_eq!(post(&provider, "/s/one/v1/messages", &ask("a")), "");
}
