//! What a newcomer is shown: where to click, and lines to copy that work as they stand.

use crate::auth::issue_both;
use crate::catalogue::{Catalogue, ProjectName};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the tokens of the block are good for.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a node that is not ready may take before the block says what it waits for.
const GRACE: Duration = Duration::from_secs(2);

/// How often a node that is not ready is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Prints the block once the node is ready. A node that takes longer says first what it waits for, which `waits_for` names.
pub async fn print_when_ready(
    catalogue: &dyn Catalogue,
    name: &ProjectName,
    address: SocketAddr,
    waits_for: impl Fn() -> Option<String>,
) {
    let (start, mut has_said) = (Instant::now(), false);
    while let Some(cause) = waits_for() {
        if !has_said && start.elapsed() >= GRACE {
            has_said = true;
            print(&format!("\nCarillon listens on http://{address} and is not ready: waiting for {cause}.\n"));
        }
        sleep(POLL).await;
    }
    print_block(catalogue, name, address).await;
}

/// Prints the block to try, on standard output; nothing where the project or its keys are gone.
async fn print_block(catalogue: &dyn Catalogue, name: &ProjectName, address: SocketAddr) {
    let Ok(Some(project)) = catalogue.project(name).await else { return };
    let Ok((api, user)) = issue_both(&project, "try", "u42", TOKEN_LIFE) else { return };
    print(&block(&program(), reachable(address), name, &api, &user));
}

fn print(text: &str) {
    // A closed standard output is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// How this program was called, so that the lines with it can be copied too.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "carillon".into(), |name| name.to_string_lossy().into_owned())
}

/// Where a browser on this machine finds a node that listens on `address`: "every address" is none to open.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST, address.port()).into(),
    }
}

fn block(program: &str, address: SocketAddr, project: &ProjectName, api: &str, user: &str) -> String {
    format!(
        r#"
Carillon is ready. Its tokens below are good for a day.

1. Open this page and press Register:

  http://{address}/try#api={api}&user={user}

2. Emit an event; the page shows it at once:

  curl -w '\n' http://{address}/api/system-api/{project}/emit-event-ws \
    -H 'content-type: application/json' \
    -H 'x-am-authorization: {api}' \
    -d '{{"name":"order-updates","eventData":{{"recipientId":"u42","order_no":1001,"status":"SHIPPED","total":129.90}}}}'

3. Hear it in JavaScript (the console of that page, or Node 22), then emit again:

  const socket = new WebSocket("ws://{address}/ws", ["carillon.v1",
    "api.{api}",
    "user.{user}"]);
  socket.onmessage = ({{ data }}) => console.log(data);
  socket.onopen = () => socket.send(JSON.stringify({{ objType: "REGISTER", onEvents: [{{
    eventType: "CUSTOM_WS_EVENTS", apiName: "order-updates",
    condition: {{ conditionType: "RESPONSE", criteria: {{ recipientId: "u42", total: {{ $gte: 100 }} }} }} }}] }}));

More tokens:  {program} token api --project {project} --name my-app --scope connect,emit
              {program} token user --project {project} --sub u43
To stop it:   Ctrl+C

"#
    )
}
