// Tests the real program with the library `ws`, an independent client.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from './client.mjs';
import { Node } from './node.mjs';

test('tokens are taken from headers, query and subprotocol', async (t) => {
  const node = await Node.start(t);
  const tokens = node.tokens();
  const offered = [
    'carillon.v1',
    `api.${tokens['x-am-authorization']}`,
    `user.${tokens['x-am-user-authorization']}`,
  ];
  const ways = [
    ['/ws', [], { headers: tokens }, ''],
    [`/?${new URLSearchParams(tokens)}`, [], {}, ''],
    ['/ws', offered, {}, 'carillon.v1'],
  ];
  for (const [path, protocols, options, protocol] of ways) {
    const client = new Client(node, path, protocols, options);
    assert.equal((await client.read()).type, 'CONNECTED');
    assert.equal(client.socket.protocol, protocol);
    client.socket.close(1000);
    assert.equal(await client.close_code(), 1000);
  }
});

test('a matching emit is delivered until the subscription ends', async (t) => {
  const node = await Node.start(t);
  const tokens = node.tokens();
  const client = await Client.connect(node, tokens);
  const own = await client.subscribe('orders', { recipientId: 'u42', total: { $gte: 100 } });
  const rest = await client.subscribe('orders', { recipientId: { $ne: 'u42' } });
  for (const [recipientId, total, eventId] of [['u42', 99, null], ['u42', 100, own], ['u43', 1, rest]]) {
    const answer = await node.emit(tokens, 'orders', { recipientId, total });
    assert.equal(answer.success, true);
    if (!eventId) continue;
    const message = await client.read();
    assert.equal(message.type, 'NOTIFICATION');
    assert.equal(message.response.eventId, eventId);
    assert.deepEqual(message.response.eventData, { recipientId, total });
  }
  const answer = await client.ask({ objType: 'UNREGISTER', onEvents: [{ eventId: own }] });
  assert.deepEqual(answer.response, { validOnEvents: [{ eventId: own }], invalidOnEvents: [] });
  await node.emit(tokens, 'orders', { recipientId: 'u42', total: 100 });
  await node.emit(tokens, 'orders', { recipientId: 'u44', total: 100 });
  assert.equal((await client.read()).response.eventData.recipientId, 'u44');
});

test('tokens expire with 4401 and a refresh prevents it', async (t) => {
  const node = await Node.start(t, { AUTH__LEEWAY_SECONDS: 0 });
  const fresh = node.tokens();
  const short = node.tokens('u1', '4s');
  const refreshed = await Client.connect(node, short);
  const expiring = await Client.connect(node, short);
  const answer = await refreshed.ask({ objType: 'REFRESH', guid: 'r', tokens: fresh });
  assert.equal(answer.guid, 'r');
  assert.ok(answer.response.expiresAt > Date.now() / 1000);
  assert.equal(await expiring.close_code(), 4401);
  assert.ok(await refreshed.subscribe('orders', { a: 1 }));
});

test('a bad token is reported before the close', async (t) => {
  const node = await Node.start(t);
  const client = new Client(node, '/ws', ['carillon.v1', 'api.nope', 'user.nope']);
  const message = await client.read();
  assert.equal(message.type, 'TOKEN_VALIDATION');
  assert.equal(message.errors[0].code, 'TOKEN_INVALID');
  assert.equal(await client.close_code(), 4401);
});

test('an offered compression is declined', async (t) => {
  const node = await Node.start(t);
  const client = new Client(node, '/ws', [], { headers: node.tokens(), perMessageDeflate: true });
  await client.read();
  assert.equal(client.socket.extensions, '');
});

test('a stopping node closes with 1001 and exits cleanly', async (t) => {
  const node = await Node.start(t);
  const tokens = node.tokens();
  const clients = [];
  for (let i = 0; i < 5; i++) clients.push(await Client.connect(node, tokens));
  node.process.kill('SIGTERM');
  for (const client of clients) assert.equal(await client.close_code(), 1001);
  assert.equal(await node.exited, 0);
});
