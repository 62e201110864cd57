//! The example `own_graph`, driven by published clients as they are.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use ibid_testkit::RealModels;

/// The example, ended with the test.
struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const LANGGRAPH: &str = "
import sys
from langgraph_sdk import get_sync_client
client = get_sync_client(url=sys.argv[1])
thread = client.threads.create()
asked = {'messages': [{'role': 'user', 'content': 'Where is order 4711?'}]}
values = client.runs.wait(thread['thread_id'], 'triage', input=asked)
assert values['messages'][-1]['content'] == 'Order 4711 left this morning.', values
nodes = [node['id'] for node in client.assistants.get_graph('triage')['nodes']]
assert nodes == ['__start__', 'reply', '__end__'], nodes
";

const OPENAI: &str = "
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1] + '/v1', api_key='none')
assert 'triage' in [model.id for model in client.models.list()]
messages = [{'role': 'user', 'content': 'Where is order 4711?'}]
answer = client.chat.completions.create(model='triage', messages=messages)
assert answer.choices[0].message.content == 'Order 4711 left this morning.', answer
";

#[test]
fn a_graph_of_ones_own_is_served_to_published_clients() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/own_graph");
    let mut child = Command::new(&example).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _example = Example(child);
    let line = lines.next().unwrap().unwrap();
    let url = line.strip_prefix("listens on ").unwrap();
    for program in [LANGGRAPH, OPENAI] {
        let mut python = Command::new(RealModels::find().path("clients/bin/python"));
        let output = python.args(["-c", program, url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
