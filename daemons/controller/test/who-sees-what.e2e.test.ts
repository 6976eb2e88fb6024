/** What one session of the built controller sees reaches no other, in any order, over the page, a macro or the wire. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import { rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { post } from './operating.ts'
import { openRestSite } from './rest-site.ts'

/** Planted words end in a capital P, so that no other word matches. */
const planted = (said: unknown) => [...new Set(JSON.stringify(said).match(/Planted\w+/g) ?? [])]

const CAMERA = 'rtsp://viewer:PlantedAddress@10.0.0.9/1'
const SHOT = 'http://10.0.0.9/shot.cgi?usr=viewer&pwd=PlantedParameter'

const ROWS = {
  device: [
    { id: 1, name: 'Lights', driver: 'sim', address: '7' },
    { id: 2, name: 'Line', driver: 'sim', config: { url: CAMERA, shot: SHOT, inner: '{"apikey": "PlantedInText"}' } },
  ],
  zone: [
    { id: 1, name: 'Hall', device_id: 1, overrides: { open: { command: 'on', args: { pin: 'PlantedPin' } } } },
    { id: 3, name: 'Stairs', device_id: 1 },
    { id: 4, name: 'Lamp', device_id: 1, type: 'dimmer' },
    { id: 5, name: 'Porch', device_id: 2 },
    { id: 6, name: 'Attic', device_id: 1 },
  ],
  attribute: [
    { id: 1, name: 'stream', value: CAMERA, system_target: 'zone', target_id: 4 },
    { id: 2, name: 'shot', value: SHOT, system_target: 'zone', target_id: 4 },
    { id: 3, name: 'set up', value: { credentials: ['PlantedCredentials'] }, system_target: 'zone', target_id: 4 },
    // Its device says another one, with a secret in it: the attribute then holds that.
    { id: 4, name: 'mode', value: 'day', system_target: 'zone', target_id: 4 },
    { id: 5, name: 'remark', value: 'day', system_target: 'zone', target_id: 4 },
  ],
  av_source: [{ id: 1, name: 'Camera', stream: { url: CAMERA } }],
  channel_provider: [{ id: 1, name: 'Radio' }],
  channel: [{ id: 1, provider_id: 1, name: 'One', logo: SHOT }],
  macro: [
    { id: 1, name: 'compare attribute' },
    { id: 2, name: 'compare field' },
    { id: 3, name: 'wait for field', mode: 'parallel' },
  ],
  macro_step: [
    compare(1, 'condition', { zone_id: 4, attribute: '${args.name}' }),
    compare(2, 'condition', { zone_id: 4, field: '${args.name}' }),
    compare(3, 'wait', { zone_id: 4, field: '${args.name}' }, { timeout_ms: 5000 }),
  ],
}

function compare(macro_id: number, type: string, left: object, more: object = {}) {
  return { macro_id, position: 1, type, args: { left, op: 'contains', right: '${args.guess}', ...more } }
}

t.test('1 Guards: sessions with different rights', async (t) => {
  const site = await openRestSite(t, { rows: ROWS })
  const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
  const tell = (verb: string, value: unknown) =>
    site.post('/api/control/command', { zone_id: 4, command: verb, args: { [verb]: value } }, ada)
  for (const [verb, value] of [
    ['source', CAMERA],
    ['value', '{"password": "PlantedInValue"}'],
    ['mode', SHOT],
    ['setup', { ftp: { password: 'PlantedField' }, port: 21 }],
    ['camera', CAMERA],
  ] as const)
    t.match((await tell(verb, value)).body, { success: true })

  await t.test('1 Guards: rows that an elevated session has read are not in answers to others', async (t) => {
    for (const entity of ['zone', 'device', 'attribute', 'av_source', 'channel'])
      for (const query of ['', '?_limit=5', '?_orderby=id', '?_instance=true', '?_fields=id']) {
        const path = `/api/data/${entity}${query}`
        if (query === '') t.not(planted((await site.get(path, ada)).body).length, 0, `${entity} holds something`)
        t.same(planted((await site.get(path, olga)).body), [], path)
        t.equal((await site.get(path, olga)).status, 200)
      }
  })

  await t.test('1 Guards 5: the page shows no more of a zone than a read over REST', async (t) => {
    const page = await site.pageOf('olga')
    const { status, body } = await page('GET', '/ui/zones')
    t.equal(status, 200)
    t.match(JSON.stringify(body), /10\.0\.0\.9/, 'the address itself is shown')
    t.same(planted(body), [])
  })

  await t.test('1 Guards 3, 4: no macro compares with values that its caller may not see', async (t) => {
    const run = async (macro_id: number, name: string, guess: string) =>
      (await site.post('/api/control/macro', { macro_id, args: { name, guess } }, olga)).body
    for (const [macro, names] of [
      [1, ['stream', 'shot', 'set up', 'mode']],
      [2, ['setup', 'camera', 'mode']],
      [3, ['setup']],
    ] as const)
      for (const name of names)
        for (const guess of ['Planted', 'zzz'])
          t.match(
            await run(macro, name, guess),
            { success: false, error: 'not authorized' },
            `${macro} ${name} ${guess}`,
          )
    t.match(await run(1, 'remark', 'da'), { success: true })
    t.match(await run(2, 'state', 'o'), { success: true })
  })

  await t.test('1 Guards 3: a wait that began before the secret came reveals nothing either', async (t) => {
    const waits = ['Planted', 'zzz'].map((guess) =>
      site.post('/api/control/macro', { macro_id: 3, args: { name: 'later', guess } }, olga),
    )
    await tell('later', { token: 'PlantedLater' })
    for (const told of await Promise.all(waits)) t.match(told.body, { success: false, error: 'not authorized' })
  })
})

t.test('the first account can be created only from inside the building', async (t) => {
  const stateFolder = stateFolderOf(t)
  const daemon = await startDaemon(t, 'controller', { stateFolder, sets: ['mdns.enabled=false'] })
  const ask = (headers: Record<string, string>) =>
    fetch(`${daemon.url}/ui/setup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ username: 'eve', password: 'a long enough one' }),
    })
  // A proxy that the controller does not know may relay anybody from anywhere.
  for (const name of ['x-forwarded-for', 'forwarded', 'via', 'X-Real-IP', 'CF-Connecting-IP', 'X_Forwarded_Host']) {
    const reply = await ask({ [name]: 'for=203.0.113.7' })
    t.match({ status: reply.status, body: await reply.json() }, { status: 403, body: { error: 'setup_remote' } }, name)
  }
  t.equal(await statusUnder(daemon.url, `${hostname()}.evil.example`), 403, 'a foreign name that begins with ours')
  t.equal((await ask({})).status, 200)
  await daemon.stop()
  for (const end of ['', '-wal', '-shm']) rmSync(join(stateFolder, `controller.db${end}`), { force: true })
  writeFileSync(join(stateFolder, 'controller.db'), '')
  rmSync(join(stateFolder, 'set-up.json'))
  const emptied = await startDaemon(t, 'controller', { stateFolder, sets: ['mdns.enabled=false'] })
  const again = await post(emptied, '/ui/setup', { username: 'eve', password: 'a long enough one' })
  t.match(again, { status: 409, body: { error: 'not_first_start' } }, 'its audit names somebody')
})

t.test('one house, and what its sessions may', async (t) => {
  const site = await openRestSite(t, {
    rows: {
      macro: [{ id: 1, name: 'when it is time' }],
      macro_step: [
        { macro_id: 1, position: 1, type: 'wait', args: { zone_id: 4, field: 'time', value: 1, timeout_ms: 9000 } },
        { macro_id: 1, position: 2, type: 'command', command: 'on', args: { zone_id: '${args.where}' } },
      ],
    },
  })

  await t.test('1 POST /api/control: args never end a line of a device, whatever counts as a line end', async (t) => {
    site.lines.length = 0
    const olga = await site.tokenOf('olga')
    const text = ['\r', '\n', '\u0085', '\u2028', '\u2029', '\u007f', '\u009b'].map((end) => `${end}Z2 on {}`).join('')
    t.match((await site.post('/api/control/command', { zone_id: 1, command: 'say', args: { text } }, olga)).body, {
      success: true,
    })
    await until('the line has come', () => site.lines.length > 0)
    const [line = ''] = site.lines
    t.match(line, /^Z1 say \{/)
    t.notMatch(line, /[\p{Cc}\p{Zl}\p{Zp}]/u)
    t.strictSame(JSON.parse(line.replace('Z1 say ', '')), { text }, 'and the device reads the same values')
  })

  await t.test(
    'Apply All and Discard at the same moment: one of them is carried out, and the other is told so',
    async (t) => {
      const page = await site.pageOf('ada')
      const orders = [1, 2, 3].flatMap(() => [['apply', 'discard'] as const, ['discard', 'apply'] as const])
      for (const [at, order] of orders.entries()) {
        const name = `Hall ${at}`
        await site.stage({ zone: [{ id: 1, name }] })
        const { revision } = (await page('GET', '/ui/pending')).body
        const [first, second] = await Promise.all(
          order.map((what) => page('POST', `/ui/pending/${what}`, { revision })),
        )
        const done = [first, second].filter((told) => told?.status === 200)
        t.equal(done.length, 1, `${order}: ${first?.status} ${second?.status}`)
        const isApplied = (await page('GET', '/ui/zones')).body.groups.some(
          ({ zones }: { zones: { name: string }[] }) => zones.some((zone) => zone.name === name),
        )
        t.equal(isApplied, 'applied' in (done[0]?.body ?? {}), 'and the result is that of the one carried out')
      }
    },
  )

  await t.test(
    '1 Authentication 4: an account that is being closed is signed out of the page at once, unless it may apply changes',
    async (t) => {
      site.lines.length = 0
      const [olga, ada] = [await site.pageOf('olga'), await site.pageOf('ada')]
      const command = { zone_id: 1, command: 'on' }
      t.equal((await olga('POST', '/ui/command', command)).status, 200)
      await site.stage({ auth_user: ['olga', 'ada'].map((username) => ({ username, enabled: false })) })
      t.equal((await olga('POST', '/ui/command', command)).status, 401)
      t.match((await (await site.pageOf('olga'))('GET', '/ui/me')).status, 401, 'and can no longer sign in')
      await until('the line has come', () => site.lines.length > 0)
      t.strictSame(site.lines, ['Z1 on {}'])
      const { revision } = (await ada('GET', '/ui/pending')).body
      t.equal((await ada('POST', '/ui/pending/discard', { revision })).status, 200)
      t.equal((await olga('GET', '/ui/me')).status, 401, 'a session that ended stays ended')
      t.equal((await (await site.pageOf('olga'))('GET', '/ui/me')).status, 200)
    },
  )

  await t.test(
    '1 Authentication 4: a run reaches nothing more on behalf of an account that is being closed',
    async (t) => {
      site.lines.length = 0
      const [ada, olga] = [await site.tokenOf('ada'), await site.tokenOf('olga')]
      const tell = (time: number) =>
        site.post('/api/control/command', { zone_id: 4, command: 'time', args: { time } }, ada)
      const waiting = async () => (await site.get('/api/data/macro_run?_null[ended_at]=true', ada)).body.length === 1
      for (const [isClosed, expected] of [
        [false, { success: true }],
        [true, { success: false, error: 'not authorized' }],
      ] as const) {
        await tell(0)
        const running = site.post('/api/control/macro', { macro_id: 1, args: { where: 1 } }, olga)
        await until('it waits', waiting)
        if (isClosed) await site.stage({ auth_user: [{ username: 'olga', enabled: false }] })
        await tell(1)
        t.match((await running).body, expected)
      }
      await until('the line has come', () => site.lines.length > 0)
      t.strictSame(site.lines, ['Z1 on {}'])
    },
  )
})

/** fetch sets its own Host. */
function statusUnder(url: string, host: string): Promise<number | undefined> {
  const body = JSON.stringify({ username: 'eve', password: 'a long enough one' })
  const headers = { host, 'content-type': 'application/json', 'content-length': body.length }
  return new Promise((resolve, reject) => {
    const asking = request(`${url}/ui/setup`, { method: 'POST', headers }, (answer) =>
      resolve(answer.resume().statusCode),
    )
    asking.on('error', reject).end(body)
  })
}
