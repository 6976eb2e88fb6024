/** Settings, restarts, reset, status and feed of the real board. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { ask } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { faultsOf, type RunningBoard, startBoard } from './running-board.ts'

const sets = ['mdns.enabled=false', 'machine.restart_after_ms=20']

const startsOf = (board: RunningBoard) => (board.output().match(/ listening url=/g) ?? []).length

/** Waits until the board has restarted this many times since it had started `before` times, and answers. */
async function begunAnew(board: RunningBoard, times: number, before = 1): Promise<void> {
  await until(`restarted ${times} times`, () => startsOf(board) >= before + times)
}

/** A board for tests that need no first start, and leave its role as it was; it tells its pages of changes alone. */
const shared = await startBoard(t, { sets: [...sets, 'feed.most_ms=60000'] })

const start = (t: Test, more: string[] = []) => startBoard(t, { sets: [...sets, ...more] })

t.test('B.endpoints POST /api/config saves and restarts: same process, same port, new settings', async (t) => {
  const board = shared
  const starts = startsOf(board)
  const { body: before } = await board.get('/api/config')
  t.teardown(async () => {
    await board.post('/api/config', texts(before))
    await begunAnew(board, 2, starts)
  })
  const sent = await board.post('/api/config', { ...texts(before), name: 'Lobby ceiling', role: 'usbip' })
  const answer = { saved: true, changed: ['name', 'role'], restarts: true, reboots_machine: false, about_s: 2 }
  const { revision, ...said } = sent.body
  t.strictSame([sent.status, said], [200, answer])
  await begunAnew(board, 1, starts)
  t.strictSame((await board.get('/api/config')).body, { ...before, name: 'Lobby ceiling', role: 'usbip' })
  t.equal((await board.get('/api/config/form')).body.revision, revision)
  const { body: status } = await board.get('/api/status')
  t.match(status, { role: 'usbip', name: 'Lobby ceiling', last_start: { reason: 'config', at: Number } })
  t.match(readFileSync(`/proc/${board.pid}/cmdline`, 'utf8'), /plantroom\.mjs/)
  t.match(
    board.output(),
    new RegExp(`starting daemon=board .* pid=${board.pid}\\n[^]*starting daemon=board .* pid=${board.pid}\\n`),
  )
})

t.test('B.rules.3 the answer of GET posted back unchanged changes nothing and restarts anyway', async (t) => {
  const board = shared
  const before = startsOf(board)
  const { body } = await board.get('/api/config')
  const sent = await board.post('/api/config', texts(body))
  t.match(sent.body, { saved: true, restarts: true })
  t.same(sent.body.changed, [])
  await begunAnew(board, 1, before)
  t.strictSame((await board.get('/api/config')).body, body)

  t.equal(body.sap, true)
  const patch = { method: 'PATCH', body: new URLSearchParams({ name: 'Lobby' }) }
  const { body: one } = await ask(`${board.url}/api/config`, patch)
  t.strictSame([one.changed, one.warning], [['name'], undefined], 'PATCH changes what it names and nothing else')
  await begunAnew(board, 2, before)
  t.strictSame((await board.get('/api/config')).body, { ...body, name: 'Lobby' })
  const { body: whole } = await board.post('/api/config', { name: 'Bar' })
  t.strictSame(whole.changed, ['name', 'sap'])
  t.match(
    whole.warning,
    /^sap is off now, since it was not in the form\. .* PATCH/,
    'posting a single setting gives a warning',
  )
  await begunAnew(board, 3, before)

  const read = await fetch(`${board.url}/api/config`)
  const sendFrom = (etag: string, name: string) => {
    const form = new URLSearchParams({ ...texts({ ...body, sap: false }), name })
    return ask(`${board.url}/api/config`, { method: 'POST', body: form, headers: { 'if-match': etag } })
  }
  const etag = read.headers.get('etag') ?? ''
  t.equal((await sendFrom(etag, 'Theirs')).status, 200)
  await begunAnew(board, 4, before)
  const mine = await sendFrom(etag, 'Mine')
  t.match([mine.status, mine.body], [412, { error: 'changed_meanwhile', message: /nothing of yours was saved/ }])
  t.match((await board.get('/api/config')).body, { name: 'Theirs' })
})

t.test('B.endpoints an invalid form is refused field by field, and nothing is saved or restarted', async (t) => {
  const board = shared
  const saidBefore = board.output().length
  const { body: before } = await board.get('/api/config')
  const refused = await board.post('/api/config', { port: '80', static_ip: '1', hostnme: 'x', name: 'Lobby' })
  t.equal(refused.status, 400)
  t.match(refused.body, { error: 'bad_fields', message: String })
  t.match(faultsOf(refused.body), {
    port: /too low/,
    ip: /there is none/,
    mask: /needs the mask/,
    hostnme: /hostname/,
  })
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.strictSame((await board.get('/api/config')).body, before)
  t.notMatch(board.output().slice(saidBefore), /starting anew/)
})

t.test('GET /api/config/form has every setting with its allowed values', async (t) => {
  const board = shared
  const { body } = await board.get('/api/config/form')
  const names = body.groups.flatMap((group: { fields: { name: string }[] }) => group.fields.map(({ name }) => name))
  t.same(names.sort(), Object.keys((await board.get('/api/config')).body).sort())
})

t.test('B.endpoints POST /api/reboot sends its complete answer, then restarts', async (t) => {
  const board = shared
  const starts = startsOf(board)
  const { body: before } = await board.get('/api/journal')
  const { status, body } = await board.post('/api/reboot')
  t.strictSame([status, body], [202, { reboots: true, about_s: 2 }])
  await begunAnew(board, 1, starts)
  t.equal((await board.get('/api/status')).body.last_start.reason, 'reboot')
  t.match((await board.get('/api/journal')).body, [{ what: 'restart' }, ...before])
})

t.test('a factory reset is confirmed by the hostname, forgets everything, and restarts', async (t) => {
  const board = await start(t, ['board.role=usbip', 'usbip.port=0'])
  const { body: first } = await board.get('/api/config')
  await board.post('/api/config', { ...texts(first), name: 'Lobby', hostname: 'lobby-7' })
  await begunAnew(board, 1)
  await board.post('/api/usbip', { allow: '10.0.0.7' })
  await board.post('/api/password', { password: 'a long enough one' })
  const reset = (hostname: string) => board.post('/api/factory_reset', { hostname }, 'a long enough one')
  t.match(await reset('lobby'), {
    status: 400,
    body: { fields: [{ field: 'hostname', message: 'This board is called lobby-7. Type that to go on.' }] },
  })
  t.equal((await reset('lobby-7')).status, 202)
  await begunAnew(board, 2)
  t.strictSame((await board.get('/api/config')).body, first)
  t.match((await board.get('/api/status')).body, { last_start: { reason: 'factory_reset' }, password_set: false })
  t.equal((await board.get('/api/usbip')).body.allow, '')
  t.match((await board.get('/api/journal')).body[0], { what: 'factory reset', target: 'lobby-7', who: 'admin' })
})

t.test('B.endpoints GET /api/status shows the state of board and machine; unknown values are null', async (t) => {
  const board = await start(t, ['board.role=encoder'])
  const { body } = await board.get('/api/status')
  t.match(body, {
    role: 'encoder',
    name: String,
    hostname: String,
    version: /^\d+\.\d+\.\d+$/,
    verdict: { state: String, text: /\.$/ },
    uptime_s: Number,
    started_at: Number,
    machine: { owned: false },
    memory: { total_bytes: Number, available_bytes: Number, process_bytes: Number },
    load: [Number, Number, Number],
    time: { now: Number },
    last_start: { at: Number, reason: 'first' },
    identify_until: null,
    network: { state: 'not_owned', confirm_until: null, text: /does not own the machine/ },
  })
  for (const { address, prefix } of body.addresses) t.ok(address && prefix > 0)
})

t.test('a page that watches gets the status at once, every second, and soon after a change', async (t) => {
  const board = shared
  const socket = new WebSocket(`${board.url.replace('http', 'ws')}/ws`)
  const heard: { type: string; status: { identify_until: number | null } }[] = []
  socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  await until('message 1 is heard', () => heard.length === 1)
  t.match(heard[0], { type: 'status', status: { role: 'serial', identify_until: null } })
  await board.post('/api/identify')
  await until('message 2 is heard', () => heard.length === 2)
  t.type(heard[1]?.status.identify_until, 'number')
  t.equal((await board.post('/api/identify', { on: '0' })).body.identify_until, null)
  await until('message 3 is heard', () => heard.length === 3)
  t.equal(heard[2]?.status.identify_until, null)
  socket.close()
})

t.test('/metrics has the machine and the board, and leaves out unknown values', async (t) => {
  const board = shared
  const { body: text } = await board.get('/metrics')
  t.match(text, /plantroom_board_info\{role="serial",name="[^"]+",hostname="[^"]+",version="[^"]+"\} 1/)
  t.match(text, /plantroom_board_network\{state="not_owned"\} 1/)
  t.match(text, /plantroom_board_memory_total_bytes \d+/)
  const { body: status } = await board.get('/api/status')
  t.equal(/^plantroom_board_temperature_celsius \S+$/m.test(text), status.temperature_c !== null)
})

t.test('a board says whether it was killed or stopped', async (t) => {
  const { stateFolder } = shared
  await shared.stop('SIGKILL')
  const again = await startBoard(t, { sets, stateFolder })
  t.equal((await again.get('/api/status')).body.last_start.reason, 'crash')
  await again.stop()
  const third = await startBoard(t, { sets, stateFolder })
  t.equal((await third.get('/api/status')).body.last_start.reason, 'service')
})

function texts(settings: object): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))
}
