//! What a newcomer is shown: where to click, and lines to copy that work as they stand.

use crate::auth::{Scope, issue_api, issue_user};
use crate::catalogue::{Catalogue, ProjectName};
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

/// How long the tokens of the block are good for.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Prints the block to try, on standard output; nothing where the project or its keys are gone.
pub async fn tell(catalogue: &dyn Catalogue, name: &ProjectName, address: SocketAddr) {
    let Ok(Some(project)) = catalogue.project(name).await else { return };
    let scopes = [Scope::Connect, Scope::Emit].into_iter().collect();
    let tokens = (issue_api(&project, "try", scopes, Some(TOKEN_LIFE)), issue_user(&project, "u42", TOKEN_LIFE, &[]));
    let (Ok(api), Ok(user)) = tokens else { return };
    // A closed standard output is no reason not to serve.
    let _ = std::io::stdout().write_all(block(address, name, &api, &user).as_bytes());
}

fn block(address: SocketAddr, project: &ProjectName, api: &str, user: &str) -> String {
    format!(
        r#"
Carillon is ready. Open this page, it needs nothing else (the tokens are good for a day):

  http://{address}/try#api={api}&user={user}

Emit an event:

  curl -X POST http://{address}/api/system-api/{project}/emit-event-ws \
    -H 'Content-Type: application/json' \
    -H 'x-am-authorization: {api}' \
    -d '{{"name":"order-updates","eventData":{{"recipientId":"u42","order_no":1001,"total":250,"status":"SHIPPED"}}}}'

Hear it in JavaScript (a browser's console, or Node 22):

  const ws = new WebSocket("ws://{address}/ws", ["carillon.v1",
    "api.{api}",
    "user.{user}"]);
  ws.onmessage = (message) => console.log(message.data);
  ws.onopen = () => ws.send(JSON.stringify({{ objType: "REGISTER", onEvents: [{{
    eventType: "CUSTOM_WS_EVENTS", apiName: "order-updates",
    condition: {{ conditionType: "RESPONSE", criteria: {{ recipientId: "u42" }} }} }}] }}));

More tokens: carillon token api --project {project} --name my-app --scope connect,emit
             carillon token user --project {project} --sub u43

"#
    )
}
