/** Rules over the built recorder: who may, what webhooks are told, and that secrets are told to nobody. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'

interface Hit {
  body: { triggerType: string; rule: string; [name: string]: unknown }
  text: string
  signature: string
}

const hits: Hit[] = []
const SECRET = 'never-told-to-anybody'

/** Takes what comes at /ok, refuses at /no, and never answers at /hang. */
const target = createServer(async (incoming, outgoing) => {
  let text = ''
  for await (const piece of incoming) text += String(piece)
  if (incoming.url === '/hang') return
  hits.push({ text, body: JSON.parse(text), signature: String(incoming.headers['x-svc-signature'] ?? '') })
  outgoing.writeHead(incoming.url === '/no' ? 500 : 204).end()
})
target.listen(0, '127.0.0.1')
await once(target, 'listening')
t.teardown(() => {
  target.closeAllConnections()
  target.close()
})
const hangs = createServer(() => {}).listen(0, '127.0.0.1')
await once(hangs, 'listening')
t.teardown(() => {
  hangs.closeAllConnections()
  hangs.close()
})
const urlOf = (server: typeof target, path: string) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

const work = stateFolderOf(t)
const sets = ['storage.free_bytes=0', 'storage.file_s=5', 'rules.webhook_timeout_ms=1000', 'ledger.save_ms=0']
const options = { stateFolder: `${work}/recorder`, sets }
const recorder = await startDaemon(t, 'recorder', options)
const boss = clientOf(recorder.url)
await boss.setUp()
const camera = await startCamera(t, await makeFootage(work, 30))
const add = async (name: string, url: string) =>
  (await boss.call('POST', '/api/discovery/rtsp', { name, url })).body.id as string
const door = await add('Door', camera.url)
const yard = await add('Yard', 'rtsp://127.0.0.1:1/none')

async function accountOf(username: string, role: string, cameras: unknown): Promise<Client & { id: string }> {
  const login = { username, password: 'seven long words' }
  const { body } = await boss.call('POST', '/api/accounts', { ...login, role, cameras })
  const client = clientOf(recorder.url)
  await client.signIn(login)
  return { ...client, id: body.id as string }
}
const guard = await accountOf('guard', 'operator', [door])
const eye = await accountOf('eye', 'viewer', 'all')

function hear(client: Client): { type: string; alert?: { rule: string; forYou: boolean } }[] {
  const heard: { type: string }[] = []
  const socket = new WebSocket(`${recorder.url.replace('http', 'ws')}/ws`, { headers: headersOf(client.credentials) })
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  t.teardown(() => socket.terminate())
  return heard
}
const bossHears = hear(boss)
const guardHears = hear(guard)

const button = { type: 'button' }
const ruleOf = async (wish: object) => (await boss.call('POST', '/api/action-rules', wish)).body
const press = (client: Client, id: string) => client.call('POST', `/api/action-rules/${id}/press`)
const alertsOf = async (client: Client) => (await client.call('GET', '/api/alerts')).body
const settled = async (rule: string) => {
  let found: { results: { state: string; sentence: string; cameraId: string | null }[] } | undefined
  await until(
    `${rule} is over`,
    async () => {
      found = (await alertsOf(boss)).find((one: { rule: string }) => one.rule === rule)
      return found?.results.every(({ state }) => state !== 'waiting') === true
    },
    LONG_MS,
  )
  return found ?? { results: [] }
}

t.test('3A.Events.1 a button tells a webhook, signed with a secret that is told to nobody', async (t) => {
  const actions = [
    { type: 'webhook', url: urlOf(target, '/ok'), secret: SECRET },
    { type: 'webhook', url: urlOf(target, '/no'), secret: null },
  ]
  const made = await ruleOf({ name: 'Doorbell', trigger: button, actions })
  t.match(made, {
    actions: [{ type: 'webhook', hasSecret: true }, { hasSecret: false }],
    action: { hasSecret: true },
    ...{ temporary_until: null, activeNow: true },
  })
  t.match(await press(boss, made.id), { status: 200, body: { by: 'admin', triggerType: 'button' } })
  t.match((await settled('Doorbell')).results, [
    { state: 'done' },
    { state: 'failed', sentence: 'The target answered 500, expected 200 to 299.' },
  ])
  const [seenByEye] = await alertsOf(eye)
  t.match(seenByEye, {
    rule: 'Doorbell',
    results: [{ state: 'done', sentence: 'Taken.' }, { sentence: 'It was not taken. Administrators see why.' }],
  })
  const [hit] = hits
  t.match(hit?.body, { rule: 'Doorbell', ruleId: made.id, triggerType: 'button', pressedBy: 'admin' })
  t.equal(
    hit?.signature,
    `sha256=${createHmac('sha256', SECRET)
      .update(hit?.text ?? '')
      .digest('hex')}`,
  )
  t.same(
    hits.map(({ signature }) => signature !== ''),
    [true, false, false],
    'a failed one is tried once more',
  )
  const said = [
    ...(await Promise.all(
      ['/api/action-rules', '/api/journal', '/api/alerts', '/api/action-buttons', '/api/alarms', '/api/health'].map(
        async (path) => JSON.stringify((await boss.call('GET', path)).body),
      ),
    )),
    JSON.stringify(bossHears),
    recorder.output(),
    readFileSync(`${options.stateFolder}/action-rules.json`, 'utf8'),
    readFileSync(`${options.stateFolder}/happened.db`, 'latin1'),
  ]
  for (const [at, text] of said.entries()) t.notMatch(text, new RegExp(SECRET), String(at))
  t.notMatch(said[1], /\/ok/, 'the path of an address is a secret with many services')
  const bare = actions.map(({ type, url }) => ({ type, url }))
  const changed = await boss.call('PATCH', `/api/action-rules/${made.id}`, { actions: bare.toReversed() })
  t.match(changed.body.actions, [{ url: /no$/, hasSecret: true }, { hasSecret: false }], 'by its number')
  await boss.call('PATCH', `/api/action-rules/${made.id}`, { actions: [{ ...bare[0], secret: null }] })
  t.match((await boss.call('GET', '/api/action-rules')).body[0].actions, [{ hasSecret: false }])
})

t.test('a webhook that hangs delays no other action, and none goes where nothing is sent', async (t) => {
  const url = urlOf(hangs, '/hang')
  const { id } = await ruleOf({
    ...{ name: 'Slow', trigger: button },
    actions: [
      { type: 'webhook', url },
      { type: 'webhook', url: urlOf(target, '/ok') },
    ],
  })
  const before = hits.length
  await press(boss, id)
  await until('the other one is told', () => hits.length > before)
  const [first] = await alertsOf(boss)
  t.match(first.results, [{ state: 'waiting' }, {}])
  t.match((await settled('Slow')).results, [
    { state: 'failed', sentence: /does not answer within 1 s/ },
    { state: 'done' },
  ])
  for (const bad of ['http://169.254.169.254/x', 'ftp://x/', 'http://a:b@10.0.0.1/', 'http://[fe80::1]/'])
    t.match(
      await boss.call('POST', '/api/action-rules', {
        name: 'x',
        trigger: button,
        action: { type: 'webhook', url: bad },
      }),
      { status: 400, body: { error: 'bad_target' } },
      bad,
    )
})

t.test('3A.authentication.7 buttons are pressed by operators who see every camera that they touch', async (t) => {
  const preserve = { type: 'preserve', beforeSeconds: 1, afterSeconds: 2 }
  const own = await ruleOf({ name: 'Keep', trigger: button, cameraIds: [door], action: preserve })
  const other = await ruleOf({ name: 'Keep yard', trigger: button, cameraIds: [yard], action: preserve })
  const detect = await ruleOf({ name: 'All', trigger: { type: 'detection' }, action: { type: 'notify' } })
  const arm = { type: 'arm', armed: false, ruleIds: [detect.id], minutes: 60 }
  const off = await ruleOf({ name: 'Disarm', trigger: button, action: arm })
  const namesOf = async (client: Client) =>
    (await client.call('GET', '/api/action-buttons')).body.map(({ name }: { name: string }) => name)
  t.same(await namesOf(guard), ['Doorbell', 'Slow', 'Keep'])
  t.same(await namesOf(eye), ['Doorbell', 'Slow', 'Keep', 'Keep yard', 'Disarm'])
  t.match(await press(eye, own.id), { status: 403, body: { error: 'forbidden' } })
  for (const id of [other.id, off.id, detect.id, 'none'])
    t.match(await press(guard, id), { status: 404, body: { error: 'unknown_rule' } })
  t.equal((await clientOf(recorder.url).call('POST', `/api/action-rules/${own.id}/press`)).status, 401)
  t.equal((await press(guard, own.id)).status, 200)
  await settled('Keep')
  t.match((await boss.call('GET', `/api/cameras/${door}/preserve`)).body, [{ by: 'rule Keep', note: 'Rule Keep' }])
  for (const [method, path] of [
    ['GET', '/api/action-rules'],
    ['POST', '/api/action-rules'],
    ['PATCH', `/api/action-rules/${own.id}`],
    ['DELETE', `/api/action-rules/${own.id}`],
  ] as const)
    t.equal((await guard.call(method, path, method === 'GET' ? undefined : {})).status, 403, `${method} ${path}`)
  await press(boss, off.id)
  await settled('Disarm')
  const rules = (await boss.call('GET', '/api/action-rules')).body
  t.match(
    rules.find((one: { id: string }) => one.id === detect.id),
    {
      ...{ armed: false, activeNow: false, temporary_until: Number },
    },
  )
  await boss.call('PATCH', `/api/action-rules/${own.id}`, { armed: false })
  t.match(await press(boss, own.id), { status: 409, body: { error: 'rule_off' } })
})

t.test(
  '3A.Events.2 a fault of the recorder is told to whom the rule names, at cameras that they may see',
  async (t) => {
    const notify = { type: 'notify', userIds: [guard.id] }
    await ruleOf({
      name: 'Trouble',
      trigger: { type: 'fault', codes: ['camera_lost'] },
      action: notify,
      cooldownSeconds: 0,
    })
    await until(
      'it is recorded',
      async () => {
        const all = (await boss.call('GET', '/api/cameras')).body
        return all.find(({ id }: { id: string }) => id === door).health.state === 'recording'
      },
      LONG_MS,
    )
    await boss.call('PATCH', `/api/cameras/${door}`, { url: 'rtsp://127.0.0.1:1/none' })
    const isTold = (heard: typeof bossHears) => heard.filter(({ alert }) => alert?.rule === 'Trouble')
    await until('it is told', () => isTold(guardHears).length > 0, LONG_MS)
    t.match(isTold(guardHears)[0]?.alert, { cameraId: door, forYou: true, triggerType: 'fault' })
    t.match(isTold(bossHears)[0]?.alert, { forYou: false })
    t.match((await alertsOf(guard)).filter(({ rule }: { rule: string }) => rule === 'Trouble').length, 1)
    t.notMatch(JSON.stringify(guardHears), new RegExp(yard))
  },
)

t.test('3A.Events.1 a camera that is switched off is not told as one at which nobody is', async (t) => {
  await boss.call('PATCH', `/api/cameras/${yard}`, { enabled: false })
  const trigger = { type: 'absence', seconds: 1 }
  const { id } = await ruleOf({ name: 'Nobody', trigger, cameraIds: [yard, door], action: { type: 'notify' } })
  await settled('Nobody')
  const told = (await alertsOf(boss)).filter(({ rule }: { rule: string }) => rule === 'Nobody')
  t.same(
    told.map(({ cameraId }: { cameraId: string }) => cameraId),
    [door],
  )
  await boss.call('DELETE', `/api/action-rules/${id}`)
  await boss.call('PATCH', `/api/cameras/${yard}`, { enabled: true })
})

t.test('3A.alarms the journal of alarms is asked by source, severity, camera and time', async (t) => {
  const alarms = async (query: string, client: Client = boss) =>
    (await client.call('GET', `/api/alarms?${query}`)).body.alarms
  const isLost = async () => (await alarms(`cameraId=${yard}`)).some(({ until }: { until: unknown }) => until === null)
  await until('the yard, switched on again, is lost again', isLost, LONG_MS)
  t.match(await alarms(`source=camera_lost&cameraId=${yard}`), [
    { source: 'camera_lost', where: 'Yard', cameraId: yard, severity: 'fault', until: null, message: String },
  ])
  t.same(await alarms('source=camera_lost&severity=notice'), [])
  t.same(await alarms('until=1'), [])
  t.ok((await alarms('since=1')).length >= 2)
  t.equal((await alarms('limit=1')).length, 1)
  // One that has the name of a camera of others, and is no less hidden.
  const twin = await add('Door', 'rtsp://127.0.0.1:1/twin')
  await until('it is lost', async () => (await alarms(`cameraId=${twin}`)).length > 0, LONG_MS)
  const own = await alarms('', guard)
  t.match(own, [{ source: 'camera_lost', where: 'Door', cameraId: door, severity: 'fault' }])
  t.same(await alarms(`cameraId=${door}`, guard), own)
  t.equal((await guard.call('GET', `/api/alarms?cameraId=${twin}`)).status, 404)
  t.equal((await guard.call('GET', `/api/alarms?cameraId=${yard}`)).status, 404)
  await boss.call('PATCH', `/api/cameras/${twin}`, { name: 'Back door' })
  t.match(await alarms(`cameraId=${twin}`), [{ where: 'Back door', until: null }], 'it lasts under the new name')
  t.equal((await boss.call('DELETE', `/api/cameras/${twin}`)).status, 204)
  const gone = (await alarms('source=camera_lost')).filter(({ where }: { where: string }) => where === 'Back door')
  t.match(gone, [{ until: Number }], 'it is over once the camera is gone')
})

t.test('3A.Errors.400 bodies beyond their limits are refused', async (t) => {
  const notify = { type: 'notify' }
  const out = { type: 'output', cameraId: yard, outputId: 'x', state: 'pulse' }
  const talk = { type: 'talk_message', cameraId: yard, messageId: 'm' }
  const turn = { type: 'ptz_preset', cameraId: yard, preset: '1' }
  for (const body of [
    { actions: [] },
    { actions: Array(11).fill(notify) },
    { action: { ...notify, extra: 1 } },
    { action: { type: 'nothing' } },
    { action: { ...out, seconds: 301 } },
    { action: { type: 'arm', armed: true, ruleIds: ['x'], minutes: 10_081 } },
    { action: { ...talk, repeat: 4 } },
    { action: { ...turn, returnPreset: '2', returnAfterSeconds: 4 } },
    { action: notify, schedule: { days: [7], from: '00:00', to: '01:00' } },
    { action: notify, trigger: { type: 'absence' } },
    {},
  ])
    t.equal(
      (await boss.call('POST', '/api/action-rules', { name: 'x', trigger: button, ...body })).status,
      400,
      JSON.stringify(body),
    )
  for (const action of [out, talk, turn, { type: 'ptz_aim', cameraId: yard, zoom: null }])
    t.match(
      await boss.call('POST', '/api/action-rules', { name: 'x', trigger: button, action }),
      { status: 400, body: { error: 'bad_rule', message: /^Action 1/ } },
      action.type,
    )
})

t.test('rules, their secrets, what they did and who is signed in are there again after a restart', async (t) => {
  const secret = { type: 'webhook', url: urlOf(target, '/ok'), secret: SECRET }
  const { id } = await ruleOf({ name: 'Again', trigger: button, action: secret })
  const before = (await boss.call('GET', '/api/action-rules')).body
  t.equal((await eye.call('POST', '/api/logout')).status, 200)
  await recorder.stop()
  const next = await startDaemon(t, 'recorder', options)
  const again = clientOf(next.url, boss.credentials)
  t.equal((await clientOf(next.url, guard.credentials).call('GET', '/api/alerts')).status, 200)
  t.equal((await clientOf(next.url, eye.credentials).call('GET', '/api/alerts')).status, 401, 'who signed out')
  t.same((await again.call('GET', '/api/action-rules')).body, before)
  t.ok((await alertsOf(again)).some(({ rule }: { rule: string }) => rule === 'Doorbell'))
  const known = hits.length
  await press(again, id)
  await until('it is told', () => hits.length > known, LONG_MS)
  t.match(hits.at(-1)?.signature, /^sha256=[0-9a-f]{64}$/)
})
