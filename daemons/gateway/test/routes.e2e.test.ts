import { execFile } from 'node:child_process'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import t from 'tap'
import { openPty } from '#native/serial/index.ts'
import { password, startGateway } from './running-gateway.ts'

const run = promisify(execFile)

const OTHER_PASSWORD = 'another correct horse'

/** For all tests, in this order: nobody has set it up at first. */
const gateway = await startGateway(t)

interface Curled {
  status: number
  body: string
}

/** One request with curl, as an integrator types it. */
async function curl(method: string, path: string, options: { body?: unknown; token?: string }) {
  const args = ['-sS', '-X', method, '-w', '\n%{http_code}', gateway.url + path]
  if (options.token) args.push('-H', `Authorization: Bearer ${options.token}`)
  if (options.body !== undefined) args.push('-H', 'Content-Type: application/json', '-d', JSON.stringify(options.body))
  const { stdout } = await run('curl', args)
  const cut = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(cut + 1)), body: stdout.slice(0, cut) } as Curled
}

t.test('a page whose own name resolves to this box (DNS rebinding) cannot make itself the administrator', async (t) => {
  const body = JSON.stringify({ username: 'eve', password })
  const refused = async (head: string, more: string[]) => {
    const heads = ['-H', head, '-H', 'Content-Type: application/json']
    return JSON.parse((await run('curl', ['-sS', ...heads, ...more, `${gateway.url}/api/setup`])).stdout)
  }
  for (const more of [[], ['-d', body]]) {
    for (const host of ['rebound.example', `${hostname()}.evil.example`])
      t.match(await refused(`Host: ${host}`, more), { error: 'foreign_host', message: /http\.hosts/ }, host)
    for (const sign of ['Via: 1.1 x', 'X-Real-IP: 203.0.113.9', 'cf-connecting-ip: 203.0.113.9', 'FORWARDED: for=x'])
      t.match(await refused(sign, more), { error: 'relayed' }, sign)
  }
  t.match(await gateway.call('GET', '/api/status'), { body: { adminConfigured: false } })
})

t.test('A.endpoints every route answers curl, and nobody gets in without a token', async (t) => {
  const device = openPty()
  t.teardown(() => device.close())
  const port = `/api/ports/${encodeURIComponent(device.path)}`
  const target = { url: 'http://127.0.0.1:9/in' }
  const asked = new Set<string>()

  let token = ''
  async function ask(route: string, path: string, expected: number, body?: unknown) {
    asked.add(route)
    const [method = ''] = route.split(' ')
    const answer = await curl(method, path, { body, token })
    t.equal(answer.status, expected, `${method} ${path} ${answer.body.slice(0, 200)}`)
    // The contents of lists, texts and streams are not checked.
    return /^\{.*\}$/.test(answer.body) ? JSON.parse(answer.body) : {}
  }

  t.equal((await ask('GET /api/status', '/api/status', 200)).adminConfigured, false)
  await ask('GET /api/setup', '/api/setup', 200)
  await ask('POST /api/setup', '/api/setup', 201, { username: 'admin', password, name: 'Plant room' })
  await ask('POST /api/setup', '/api/setup', 409, { username: 'eve', password })
  t.equal((await ask('GET /api/status', '/api/status', 200)).adminConfigured, true)
  token = (await ask('POST /api/login', '/api/login', 200, { password })).token
  t.match(await ask('GET /api/me', '/api/me', 200), { username: 'admin', role: 'admin' })
  t.match(await ask('GET /api/system', '/api/system', 200), {
    product: /^Plantroom/,
    name: 'Plant room',
    version: /^\d/,
  })
  const { licences } = await ask('GET /api/system', '/api/system', 200)
  const node = licences.find(({ name }: { name: string }) => name === 'Node.js')
  const licence = await ask('GET /api/system/licences/{text}', `/api/system/licences/${node.text}`, 200)
  t.match(licence.text, /^Node\.js is licensed for use as follows:/)
  t.notOk('licences' in (await ask('GET /api/system', '/api/system?licences=false', 200)))
  await ask('PATCH /api/system', '/api/system', 200, { name: 'Plant room B2' })
  t.match(await ask('GET /api/mqtt', '/api/mqtt', 200), { state: 'off', broker: null })
  t.match(await ask('POST /api/mqtt/test', '/api/mqtt/test', 409), { error: 'mqtt_off', message: /mqtt\.url/ })
  await ask('POST /api/ticket', '/api/ticket', 200)
  await ask('GET /api/ports', '/api/ports', 200)
  await ask('PUT /api/ports/{path}', port, 200, { protocol: 'raw' })
  await ask('GET /api/ports/{path}', port, 200)
  await ask('GET /api/ports/{path}/frames', `${port}/frames?limit=10`, 200)
  // For a line that is set up it never ends.
  await ask('GET /api/ports/{path}/capture.pcap', '/api/ports/%2Fdev%2Fpts%2Fnone/capture.pcap', 404)
  await ask('POST /api/ports/{path}/close', `${port}/close`, 200)
  await ask('POST /api/ports/{path}/open', `${port}/open`, 200)
  await ask('POST /api/ports/{path}/rest/tx', `${port}/rest/tx`, 200, { hex: '01' })
  await ask('POST /api/ports/{path}/rest/request', `${port}/rest/request`, 409, {
    unitId: 1,
    fc: 3,
    address: 0,
    quantity: 1,
  })
  const registers = { unitId: 1, fc: 3, address: 0, quantity: 1 }
  await ask('POST /api/ports/{path}/rest/test-read', `${port}/rest/test-read`, 409, registers)
  await ask('POST /api/ports/{path}/rest/identify', `${port}/rest/identify`, 409, { unitId: 1 })
  for (const action of ['read', 'init'])
    await ask(`POST /api/ports/{path}/rest/${action}`, `${port}/rest/${action}`, 409, { address: 1 })
  await ask('POST /api/ports/{path}/rest/send', `${port}/rest/send`, 409, { frameHex: '55 FF 00 10 05 00 00 8C' })
  await ask('GET /api/ports/{path}/ring', `${port}/ring`, 409)
  const point = { kind: 'binary', index: 0, value: true }
  await ask('POST /api/ports/{path}/rest/set-point', `${port}/rest/set-point`, 409, point)
  await ask('POST /api/ports/{path}/rest/set-iin', `${port}/rest/set-iin`, 409, { need_time: true })
  await ask('GET /api/ports/{path}/outstation', `${port}/outstation`, 409)
  await ask('POST /api/ports/{path}/rest/command', `${port}/rest/command`, 409, { command: 'power' })
  await ask('GET /api/ports/{path}/equipment', `${port}/equipment`, 409)
  await ask('GET /api/system/ca-cert', '/api/system/ca-cert', 200)
  await ask('GET /api/ports/{path}/units', `${port}/units`, 409)
  await ask('DELETE /api/ports/{path}/units/{unitId}', `${port}/units/1`, 409)
  await ask('GET /api/templates/modbus', '/api/templates/modbus', 200)
  await ask('GET /api/ports/{path}/points', `${port}/points`, 409)
  await ask('PUT /api/ports/{path}/points', `${port}/points`, 409, { points: [] })
  await ask('POST /api/ports/{path}/points', `${port}/points`, 409, { template: 'none', unitId: 1 })
  const place = { unitId: 1, fc: 3, address: 0, type: 'u16' }
  await ask('GET /api/ports/{path}/points/{name}/history', `${port}/points/power/history`, 404)
  await ask('GET /api/ports/{path}/units/{unitId}/history', `${port}/units/1/history`, 200)
  await ask('GET /api/ports/{path}/history.csv', `${port}/history.csv`, 200)
  await ask('POST /api/ports/{path}/points/{name}', `${port}/points/power`, 409, place)
  await ask('PATCH /api/ports/{path}/points/{name}', `${port}/points/power`, 409, {})
  await ask('DELETE /api/ports/{path}/points/{name}', `${port}/points/power`, 409)
  const served = { unitId: 1, table: 'coils', address: 0 }
  await ask('PUT /api/ports/{path}/registers', `${port}/registers`, 409, { ...served, values: [1] })
  await ask('GET /api/ports/{path}/registers', `${port}/registers?unitId=1&table=coils&address=0`, 409)
  await ask('POST /api/ports/{path}/rest/scan', `${port}/rest/scan`, 409, {})
  await ask('GET /api/ports/{path}/rest/scan', `${port}/rest/scan`, 409)
  await ask('DELETE /api/ports/{path}/rest/scan', `${port}/rest/scan`, 409)
  await ask('GET /api/ports/{path}/hunt', `${port}/hunt`, 404)
  await ask('POST /api/ports/{path}/hunt', `${port}/hunt`, 409, {})
  await ask('DELETE /api/ports/{path}/hunt', `${port}/hunt`, 404)
  const hook = await ask('POST /api/ports/{path}/webhooks', `${port}/webhooks`, 201, target)
  await ask('GET /api/ports/{path}/webhooks', `${port}/webhooks`, 200)
  await ask('PUT /api/ports/{path}/webhooks/{id}', `${port}/webhooks/${hook.id}`, 200, { enabled: false })
  await ask('POST /api/ports/{path}/webhooks/{id}/test', `${port}/webhooks/${hook.id}/test`, 200)
  await ask('DELETE /api/ports/{path}/webhooks/{id}', `${port}/webhooks/${hook.id}`, 204)
  const viewer = { username: 'viewer', password, role: 'viewer' }
  await ask('POST /api/users', '/api/users', 201, viewer)
  await ask('GET /api/users', '/api/users', 200)
  await ask('PATCH /api/users/{username}', '/api/users/viewer', 200, { role: 'admin' })
  await ask('DELETE /api/users/{username}', '/api/users/viewer', 204)
  const key = await ask('POST /api/keys', '/api/keys', 201, { name: 'pump', role: 'viewer' })
  await ask('GET /api/keys', '/api/keys', 200)
  await ask('DELETE /api/keys/{id}', `/api/keys/${key.id}`, 204)
  await ask('GET /api/journal', '/api/journal', 200)
  await ask('GET /api/journal/export', '/api/journal/export', 200)
  await ask('GET /api/ledger', '/api/ledger', 200)
  await ask('GET /api/ledger/export', '/api/ledger/export', 200)
  await ask('POST /api/ledger/acknowledge', '/api/ledger/acknowledge', 404, { id: 999 })
  await ask('GET /metrics', '/metrics', 200)
  const description = await ask('GET /api/openapi.json', '/api/openapi.json', 200)
  await ask('DELETE /api/ports/{path}', port, 204)
  const own = { current: password, password: OTHER_PASSWORD }
  token = (await ask('POST /api/me/password', '/api/me/password', 200, own)).token
  await ask('POST /api/logout', '/api/logout', 200)

  const paths = Object.entries(description.paths as Record<string, object>)
  const described = paths.flatMap(([path, methods]) =>
    Object.keys(methods).map((verb) => `${verb.toUpperCase()} ${path}`),
  )
  t.same([...asked].sort(), described.sort(), 'what was asked is what the description lists')
  const open = ['GET /api/status', 'GET /api/system/ca-cert', 'GET /api/setup', 'POST /api/setup', 'POST /api/login']
  for (const route of described.filter((each) => !open.includes(each))) {
    const [method = '', path = ''] = route.split(' ')
    const { status } = await gateway.call(method, path.replaceAll(/[{}]/g, ''), undefined, null)
    t.equal(status, 401, `A.authentication.1 ${route} without a token`)
  }
  t.equal((await curl('GET', '/api/me', { token })).status, 401, 'a token that was signed out is dead')
})

t.test('bad input is answered with a sentence that names it', async (t) => {
  const { token } = (await gateway.call('POST', '/api/login', { password: OTHER_PASSWORD })).body
  const device = openPty()
  t.teardown(() => device.close())
  const port = gateway.portPath(device.path)
  const cases: [string, string, unknown, number, RegExp][] = [
    ['PUT', port, { protocol: 'raw', sped: 1 }, 400, /sped/],
    ['PUT', port, { protocol: 'raw', line: { baud: '9600' } }, 400, /line\.baud/],
    ['PUT', port, { protocol: 'raw', line: { parity: 'weird' } }, 400, /line\.parity/],
    ['PUT', port, { protocol: 'raw', settings: { silence: 3 } }, 400, /settings\.silence/],
    [
      'PUT',
      port,
      { protocol: 'modbus-rtu', settings: { response_timeout_ms: -1 } },
      400,
      /settings\.response_timeout_ms/,
    ],
    [
      'PUT',
      port,
      { protocol: 'modbus-rtu', settings: { slave_blocks: [{ table: 'coils', address: 65_535, quantity: 2 }] } },
      400,
      /settings\.slave_blocks\[0\] has 2 addresses from 65535, so that the last is 65536/,
    ],
    [
      'PUT',
      port,
      { protocol: 'modbus-rtu', settings: { slave_blocks: [{ table: 'coil', address: 1, quantity: 2 }] } },
      400,
      /settings\.slave_blocks\[0\]\.table/,
    ],
    ['PUT', port, { protocol: 'profibus' }, 400, /protocol/],
    ['PUT', gateway.portPath('/dev/sda'), { protocol: 'raw' }, 403, /\/dev\/sda.*ports\.allow/],
    ['PUT', gateway.portPath('/dev/pts/../sda'), { protocol: 'raw' }, 403, /\.\./],
    ['GET', gateway.portPath('/dev/ttyUSB99'), undefined, 404, /\/dev\/ttyUSB99/],
    ['POST', '/api/status', {}, 405, /GET/],
    ['GET', '/api/nothing', undefined, 404, /./],
  ]
  for (const [method, path, body, status, sentence] of cases) {
    const answer = await gateway.call(method, path, body, token)
    t.equal(answer.status, status, `${method} ${path} ${JSON.stringify(answer.body)}`)
    t.match(answer.body.message, sentence)
    t.type(answer.body.error, 'string')
  }
  await gateway.call('PUT', port, { protocol: 'raw' }, token)
  const sent = await gateway.call('POST', `${port}/rest/tx`, { hex: '01 0Z' }, token)
  t.match(sent, { status: 400, body: { error: 'bad_hex', message: /5/ } })
})
