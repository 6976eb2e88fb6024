/** Attacks on the built controller: no secret leaves it, or is stored where it should not be. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ask, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { hashPassword } from '../io/people.ts'
import { importFirstSite } from '../io/site-import.ts'
import { bytesOf, parts } from './io/store-parts.ts'

const PASSWORDS = { root: 'PlantedRootPassword', bob: 'PlantedBobPassword', gone: 'PlantedGonePassword' }

/** Two zones; bob sees the first. */
const SITE = {
  site: [{ id: 1, name: 'House' }],
  auth_role: [
    { id: 1, name: 'admin', elevated: true, rules: 'allow api *\nallow ui *' },
    { id: 2, name: 'staff', rules: 'allow api command, macro, query\nallow ui 1' },
  ],
  auth_user: [
    { id: 1, username: 'root', password: PASSWORDS.root, roles: ['admin'], sites: ['House'] },
    { id: 2, username: 'bob', password: PASSWORDS.bob, roles: ['staff'], sites: ['House'] },
    { id: 3, username: 'gone', password: PASSWORDS.gone, enabled: false, roles: ['staff'], sites: ['House'] },
  ],
  subsystem: [{ id: 1, name: 'Lights' }],
  device: [
    {
      id: 1,
      name: 'Sim',
      driver: 'sim',
      password: 'PlantedDevicePassword',
      api_key: 'PlantedDeviceKey',
      config: { ftp: { password: 'PlantedConfigPassword' } },
    },
    { id: 2, name: 'Vault', driver: 'sim', elevated: true },
  ],
  zone: [
    { id: 1, name: 'Hall', device_id: 1, type: 'light', min: 0, max: 50 },
    { id: 2, name: 'Hidden <img src=x onerror=alert(1)>', device_id: 1, type: 'light' },
    { id: 3, name: 'Vault door', device_id: 2, type: 'door' },
  ],
  attribute: [
    { id: 1, name: 'door_code', value: 'PlantedSecureValue', secure: true, system_target: 'zone', target_id: 1 },
    { id: 2, name: 'wifi_password', value: 'PlantedSensitiveValue', system_target: 'zone', target_id: 1 },
    {
      id: 3,
      name: 'blob',
      value: '{"sftp":{"password":"PlantedNestedValue"},"mode":"day"}',
      system_target: 'zone',
      target_id: 1,
    },
    { id: 4, name: 'mode', value: 'day', system_target: 'zone', target_id: 1 },
  ],
  ui: [{ id: 1, name: 'Panel' }],
  ui_zone: [{ ui_id: 1, zone_id: 1 }],
  credential: [{ id: 1, name: 'c', password: 'PlantedCredential', private_key: 'PlantedPrivateKey' }],
  macro: [
    { id: 1, name: 'oracle' },
    { id: 2, name: 'tell', elevated: false },
    { id: 3, name: 'any' },
  ],
  macro_step: [
    {
      macro_id: 1,
      position: 1,
      type: 'condition',
      args: { left: { zone_id: 1, attribute: '${args.name}' }, op: 'contains', right: '${args.guess}' },
    },
    { macro_id: 1, position: 2, type: 'delay', args: { ms: 1 } },
    { macro_id: 2, position: 1, type: 'notify', args: { text: 'code ${args.pin}' } },
    { macro_id: 3, position: 1, type: 'command', command: 'on', args: { zone_id: '${args.zone_id}' } },
  ],
}

async function house(t: Parameters<typeof stateFolderOf>[0]) {
  const stateFolder = stateFolderOf(t)
  await importFirstSite(stateFolder, bytesOf(SITE), { ...parts, hashPassword })
  const daemon = await startDaemon(t, 'controller', { stateFolder, sets: ['mdns.enabled=false'] })
  const post = (path: string, body: unknown, token?: string) =>
    ask(daemon.url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: token ? { authorization: `Bearer ${token}` } : {},
    })
  const get = (path: string, token?: string) =>
    ask(daemon.url + path, { headers: token ? { authorization: `Bearer ${token}` } : {} })
  const sign = async (username: keyof typeof PASSWORDS) =>
    (await post('/api/token', { username, password: PASSWORDS[username] })).body.token as string
  return { ...daemon, post, get, sign }
}

/** Words that SITE and these tests plant. */
const planted = (text: string) => [...new Set(text.match(/Planted\w+/g) ?? [])]

t.test('1 Guards: no query, page or answer gives a planted secret to a caller that is not elevated', async (t) => {
  const { get, post, sign } = await house(t)
  const bob = await sign('bob')
  const entities = ['device', 'zone', 'attribute', 'credential', 'auth_user', 'attribute_history', 'macro_run']
  const queries = ['', '?_instance=true', '?_like[value]=%25Nested%25', '?name=blob&_like[value]=%25Nested%25']
  for (const entity of entities)
    for (const query of queries)
      t.same(planted(JSON.stringify((await get(`/api/data/${entity}${query}`, bob)).body)), [], entity + query)
  const root = await sign('root')
  for (const entity of ['device', 'credential', 'auth_user'])
    t.same(planted(JSON.stringify((await get(`/api/data/${entity}`, root)).body)), [], entity)
  t.equal((await post('/api/control/command', { zone_id: 1, level: '99' }, bob)).status, 400)
})

t.test(
  '1 Guards 3, 4: a macro that compares what its caller names reveals no secret, not even a nested one',
  async (t) => {
    const { post, sign } = await house(t)
    const bob = await sign('bob')
    const guessed = async (name: string, guess: string) =>
      (await post('/api/control/macro', { macro_id: 1, args: { name, guess } }, bob)).body
    const refused = { success: false, error: 'not authorized' }
    for (const name of ['blob', 'door_code', 'wifi_password'])
      for (const guess of ['P', 'zzz']) t.match(await guessed(name, guess), refused, `${name} ${guess}`)
    t.match(await guessed('mode', 'd'), { success: true })
  },
)

t.test('no secret is in a log or a record', async (t) => {
  const { post, sign, stop, output, stateFolder, url } = await house(t)
  const bob = await sign('bob')
  await post('/api/token', { username: 'PlantedTyped', password: 'PlantedTyped' })
  await ask(`${url}/api/token?password=PlantedQuery`, { method: 'POST', body: '{"username":"PlantedBody' })
  await post(
    '/api/control/command',
    { zone_id: 1, command: 'code', args: { code: 'PlantedArg', pin: 'PlantedPin' } },
    bob,
  )
  await post('/api/control/macro', { macro_id: 2, args: { pin: 'PlantedNotice' } }, bob)
  const { nonce } = (await post('/api/session_handoff', {}, bob)).body
  await stop()
  t.same(planted(output()), [])
  for (const name of readdirSync(stateFolder)) {
    const text = readFileSync(join(stateFolder, name), 'latin1')
    t.notOk(
      [bob, nonce, ...Object.values(PASSWORDS)].some((secret) => text.includes(secret)),
      name,
    )
    if (name.startsWith('audit')) t.same(planted(text), [], name)
    t.notMatch(text, /Planted(Typed|Query|Body|Arg|Pin)/, name)
  }
})

t.test('1 Handoff nonce: of ten that redeem one at once, one is let in', async (t) => {
  const { post, sign, url } = await house(t)
  const { nonce } = (await post('/api/session_handoff', {}, await sign('bob'))).body
  const redeem = () =>
    ask(`${url}/ui/handoff`, {
      method: 'POST',
      body: '{}',
      headers: { cookie: `svc_handoff=${nonce}`, 'content-type': 'application/json' },
    })
  const answers = await Promise.all(Array.from({ length: 10 }, redeem))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(401)])
})

t.test('a token is accepted only in headers, and each kind opens only its own surface', async (t) => {
  const { get, sign, url } = await house(t)
  const bob = await sign('bob')
  t.equal((await get(`/api/me?token=${bob}&svc-api-token=${bob}`)).status, 401)
  t.equal((await ask(`${url}/api/me`, { headers: { cookie: `svc_controller=${bob}` } })).status, 401)
  t.equal((await ask(`${url}/ui/me`, { headers: { cookie: `svc_controller=${bob}` } })).status, 401)
  t.equal((await get('/metrics')).status, 401)
})
