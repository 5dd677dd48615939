//! The text on standard output when a node with the project `demo` is ready: links and commands to copy.
//!
//! It holds tokens only on a terminal of the machine itself, or if the operator asks for them. Standard output of a
//! service goes to a journal, and everybody who reads the journal could use the tokens.

use crate::auth::issue_both;
use crate::catalogue::{Catalogue, ProjectName};
use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long the printed tokens are valid.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a node may take to become ready before a line says what it waits for.
const GRACE: Duration = Duration::from_secs(2);

/// How often the node is asked whether it is ready.
const POLL: Duration = Duration::from_millis(50);

/// The options of the text.
pub struct DemoText {
    /// The address that the node listens on.
    pub address: SocketAddr,
    /// Whether the node serves the try page.
    pub try_page: bool,
    /// Whether the operator asked for tokens.
    pub asks_for_tokens: bool,
}

impl DemoText {
    /// Prints the text once the node is ready. If that takes longer than [`GRACE`], prints what the node waits for
    /// first.
    pub async fn print_when_ready(&self, catalogue: &dyn Catalogue, waits_for: impl Fn() -> Option<String>) {
        let (start, mut is_reported, address) = (Instant::now(), false, self.address);
        while let Some(cause) = waits_for() {
            if !is_reported && start.elapsed() >= GRACE {
                is_reported = true;
                print(&format!("\nCarillon listens on http://{address} and is not ready: waiting for {cause}.\n"));
            }
            sleep(POLL).await;
        }
        print(&self.text(catalogue).await);
    }

    async fn text(&self, catalogue: &dyn Catalogue) -> String {
        let (program, address) = (program(), reachable(self.address));
        let project = catalogue.project(&ProjectName::demo()).await.ok().flatten();
        match project.map(|project| issue_both(&project, "try", "u42", TOKEN_LIFE)) {
            Some(Ok((api, user))) if self.shows_tokens() => with_tokens(&program, address, self.try_page, &api, &user),
            Some(Ok(_)) => without_tokens(&program, address, self.try_page),
            // The project was removed or disabled, or has no active keys.
            None | Some(Err(_)) => no_tokens(address),
        }
    }

    fn shows_tokens(&self) -> bool {
        let is_local = self.address.ip().to_canonical().is_loopback();
        self.asks_for_tokens || (is_local && std::io::stdout().is_terminal())
    }
}

fn print(text: &str) {
    // A closed standard output is no reason not to serve.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// How this program was called, so that the commands that contain it can be copied too.
fn program() -> String {
    std::env::args_os().next().map_or_else(|| "carillon".into(), |name| name.to_string_lossy().into_owned())
}

/// The address to open in a browser on this machine: the unspecified address is replaced by the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST, address.port()).into(),
    }
}

fn without_tokens(program: &str, address: SocketAddr, try_page: bool) -> String {
    let page = if try_page { format!("\nA page to try it:          http://{address}/try") } else { String::new() };
    format!(
        "\nCarillon is ready on http://{address}\n{page}\nTokens, good for a day:    eval \"$({program} token env)\"\n\n"
    )
}

fn no_tokens(address: SocketAddr) -> String {
    format!(
        "\nCarillon is ready on http://{address}\n\nThere is no project demo with active keys, so there are no tokens.\n\n"
    )
}

fn with_tokens(program: &str, address: SocketAddr, try_page: bool, api: &str, user: &str) -> String {
    let page = format!("* Open this page and press Register:\n\n  http://{address}/try#api={api}&user={user}\n\n");
    let page = if try_page { page.as_str() } else { "" };
    format!(
        r#"
Carillon is ready on http://{address}. The tokens below are good for a day.

{page}* Emit an event:

  curl -w '\n' http://{address}/v1/projects/demo/events \
    -H 'content-type: application/json' \
    -H 'authorization: Bearer {api}' \
    -d '{{"name":"order-updates","eventData":{{"recipientId":"u42","order_no":1001,"status":"SHIPPED","total":129.90}}}}'

* Receive it in JavaScript (the console of a browser, or Node 22), then emit again:

  const socket = new WebSocket("ws://{address}/ws", ["carillon.v1",
    "api.{api}",
    "user.{user}"]);
  socket.onmessage = ({{ data }}) => console.log(data);
  socket.onopen = () => socket.send(JSON.stringify({{ objType: "REGISTER", onEvents: [{{
    eventType: "CUSTOM_WS_EVENTS", apiName: "order-updates",
    condition: {{ conditionType: "RESPONSE", criteria: {{ recipientId: "u42", total: {{ $gte: 100 }} }} }} }}] }}));

More tokens:  {program} token api --project demo --name my-app --scope connect,emit
              {program} token user --project demo --sub u43
To stop it:   Ctrl+C

"#
    )
}
