import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { promisify } from 'node:util'
import t from 'tap'
import { hugePng, jpeg, png, vp8, webp } from '#kit/test/pictures.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS, makeFootage, startCamera } from './camera.ts'
import { admin, clientOf, headersOf } from './client.ts'

/** More than the sockets of both sides hold. */
const ENOUGH_BYTES = 12_000_000

const work = stateFolderOf(t)
const sets = ['storage.file_s=5', 'storage.free_bytes=0', 'playback.streams=2', 'playback.total_streams=3']
const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets })
const boss = clientOf(recorder.url)
const stranger = clientOf(recorder.url)

const { body: before } = await stranger.call('GET', '/api/status')
const first = await boss.setUp()
const camera = await startCamera(t, await makeFootage(work, 30, 'noise'))
const doorWish = { name: 'Door', url: camera.url, sub_url: camera.url }
const door = (await boss.call('POST', '/api/discovery/rtsp', doorWish)).body.id as string
const yard = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Yard', url: 'rtsp://127.0.0.1:1/none' })).body.id

const guardLogin = { username: 'guard', password: 'seven long words' }
const guardWish = { ...guardLogin, role: 'viewer', cameras: [door] }
const guardId = (await boss.call('POST', '/api/accounts', guardWish)).body.id as string
const guard = clientOf(recorder.url)
await guard.signIn(guardLogin)

const tokenOf = async (wish: object) => (await boss.call('POST', '/tokens', { name: 'test', ...wish })).body
const withToken = (token: string) => clientOf(recorder.url, { token })

async function boundsOf(id: string) {
  const { body } = await boss.call('GET', `/api/cameras/${id}/availability?from=0&to=1`)
  return body.bounds as { start: number; end: number } | null
}

const program = promisify(execFile)

async function framesOf(url: string): Promise<number> {
  const wants = ['-count_frames', '-show_entries', 'stream=nb_read_frames', '-of', 'csv=p=0']
  const { stdout } = await program('ffprobe', ['-v', 'error', ...wants, url])
  return Number(stdout)
}

/** Opens a long answer and reads nothing of it. */
async function openUnread(path: string, headers: Record<string, string>) {
  const asked = request(recorder.url + path, { headers, agent: false }).end()
  const [answer] = await once(asked, 'response')
  answer.on('error', () => {})
  asked.on('error', () => {})
  /** Reads the rest. @returns whether it came whole */
  async function rest(): Promise<boolean> {
    answer.resume()
    await new Promise((resolve) => answer.once('close', resolve))
    return answer.complete as boolean
  }
  return { status: answer.statusCode as number, rest, end: () => asked.destroy() }
}

t.test('A.setup the first account is made once, and is signed in', async (t) => {
  t.equal(before.adminConfigured, false)
  t.match(first, { status: 201, body: { account: { role: 'administrator', cameras: 'all' } } })
  t.equal((await stranger.call('POST', '/api/setup', admin)).status, 409)
})

t.test('nothing but what is for anyone is answered to a stranger', async (t) => {
  for (const path of ['/api/cameras', '/api/accounts', '/tokens', '/api/openapi.json', '/api/health', '/metrics'])
    t.equal((await stranger.call('GET', path)).status, 401, path)
  t.match((await stranger.call('GET', '/api/status')).body, {
    account: null,
    cameras: 0,
    timeZone: null,
    onboarding: null,
  })
  const { body } = await stranger.call('GET', '/api/identity')
  t.same(Object.keys(body), ['product', 'id', 'name'], 'no version')
})

t.test('a session is a cookie that scripts cannot read, and writes carry more', async (t) => {
  const { body, headers } = await clientOf(recorder.url).signIn()
  t.match(headers.getSetCookie().at(-1), /^svc_session=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/)
  t.match(body, { account: { username: 'admin', role: 'administrator' }, csrf: /^[\w-]{43}$/ })
  const bare = clientOf(recorder.url, { cookie: boss.credentials.cookie ?? '' })
  t.equal((await bare.call('GET', '/api/cameras')).status, 200)
  t.match(await bare.call('PATCH', '/api/onboarding', { step: 'storage' }), {
    status: 403,
    body: { error: 'csrf_missing' },
  })
  t.equal((await bare.call('GET', '/api/status')).body.csrf, boss.credentials.csrf, 'a page that was reloaded finds it')
  const foreign = { origin: 'http://127.0.0.1:1' }
  t.equal((await boss.call('PATCH', '/api/onboarding', { step: 'storage' }, foreign)).status, 403)
  t.equal((await boss.call('GET', '/api/cameras', undefined, foreign)).status, 401)
  const brief = clientOf(recorder.url)
  await brief.signIn()
  t.equal((await brief.call('POST', '/api/logout')).status, 200)
  t.equal((await brief.call('GET', '/api/cameras')).status, 401)
})

t.test('the first set-up begins at hailo, and only complete ends it', async (t) => {
  t.same((await boss.call('GET', '/api/onboarding')).body, { step: 'hailo', required: true })
  t.same((await boss.call('PATCH', '/api/onboarding', { step: 'ai' })).body, { step: 'ai', required: true })
  t.same((await boss.call('PATCH', '/api/onboarding', { step: 'complete' })).body, {
    step: 'complete',
    required: false,
  })
  t.equal((await boss.call('PATCH', '/api/onboarding', { step: 'done' })).status, 400)
  t.equal((await guard.call('GET', '/api/onboarding')).status, 403)
  t.equal((await guard.call('GET', '/api/status')).body.onboarding, null)
})

t.test('A.authentication.7 a camera that is not allowed is one that does not exist', async (t) => {
  t.same(
    (await guard.call('GET', '/api/cameras')).body.map(({ id }: { id: string }) => id),
    [door],
  )
  t.notOk('sub_url' in (await guard.call('GET', '/api/cameras')).body[0], 'an address may hold a password')
  t.equal((await boss.call('GET', '/api/cameras')).body[0].sub_url, camera.url)
  t.match((await guard.call('GET', '/api/status')).body, { cameras: 1, account: { username: 'guard' } })
  const span = 'from=0&to=1000'
  t.same(Object.keys((await guard.call('GET', `/api/recordings/availability?${span}`)).body.cameras), [door])
  for (const of of [
    `availability?${span}`,
    'playback.mp4?start=0&duration=1',
    'playback.mp4?start=0&duration=1&download=1',
  ]) {
    const answers = await Promise.all(
      [yard, 'ffffffff', '..', '%2e%2e%2fsite', `${door.toUpperCase()}x`].map((id) =>
        guard.call('GET', `/api/cameras/${id}/${of}`),
      ),
    )
    const [first, ...others] = answers.filter(({ body }) => body.error === 'unknown_camera')
    t.ok(others.length >= 2, of)
    for (const { body, status } of others) t.same([status, body], [404, first?.body], of)
  }
  t.same((await guard.call('GET', '/api/ledger')).body.entries, [], 'the lost camera is another one')
  t.equal((await guard.call('GET', '/metrics')).status, 403)
  for (const [method, path] of [
    ['PATCH', `/api/cameras/${door}`],
    ['DELETE', `/api/cameras/${door}`],
    ['GET', '/api/health'],
    ['GET', '/api/journal'],
    ['GET', '/api/accounts'],
    ['GET', '/tokens'],
  ] as const)
    t.equal((await guard.call(method, path, method === 'PATCH' ? { enabled: false } : undefined)).status, 403, path)
})

t.test('A.authentication.4 a token neither makes nor revokes tokens, and none is bound to an installer', async (t) => {
  const { id, token } = await tokenOf({})
  t.match(token, /^prc_[0-9A-Za-z]{43}$/)
  const system = withToken(token)
  t.equal((await system.call('GET', '/api/cameras')).body.length, 2)
  t.match(await system.call('POST', '/tokens', { name: 'more' }), { status: 403, body: { error: 'session_needed' } })
  t.match(await system.call('DELETE', `/tokens/${id}`), { status: 403, body: { error: 'session_needed' } })
  t.equal((await guard.call('POST', '/tokens', { name: 'mine' })).status, 403)
  // Nor does it become an account that could.
  const mallory = { username: 'mallory', password: 'a password of hers', role: 'administrator' }
  for (const [method, path, body] of [
    ['POST', '/api/accounts', mallory],
    ['PATCH', `/api/accounts/${guardId}`, { password: mallory.password }],
    ['DELETE', `/api/accounts/${guardId}`, undefined],
  ] as const)
    t.match(await system.call(method, path, body), { status: 403, body: { error: 'session_needed' } }, method)
  const wish = { username: 'fitter', password: 'seven long words', role: 'administrator', installer: true }
  t.match(await boss.call('POST', '/api/accounts', wish), { status: 400, body: { error: 'bad_account' } })
  const fitter = (await boss.call('POST', '/api/accounts', { ...wish, expiresAt: Date.now() + 3_600_000 })).body
  const refused = await boss.call('POST', '/tokens', { name: 'x', accountId: fitter.id })
  t.match(refused, { status: 409, body: { error: 'installer_token' } })
  t.notMatch(JSON.stringify((await boss.call('GET', '/tokens')).body), /prc_/, 'a list has no secrets')
  t.equal((await boss.call('DELETE', `/tokens/${id}`)).status, 204)
  t.equal((await system.call('GET', '/api/cameras')).status, 401)
})

t.test(
  'A.authentication.5 what ends makes nothing that lasts: an installer has no say over accounts and tokens',
  async (t) => {
    const login = { username: 'builder', password: 'seven long words' }
    const wish = { ...login, role: 'administrator', installer: true, expiresAt: Date.now() + 3_600_000 }
    const { id } = (await boss.call('POST', '/api/accounts', wish)).body
    const builder = clientOf(recorder.url)
    await builder.signIn(login)
    const mine = await tokenOf({})
    const other = { username: 'heir', password: 'seven long words', role: 'administrator' }
    for (const [method, path, body] of [
      ['POST', '/api/accounts', other],
      ['PATCH', `/api/accounts/${id}`, { expiresAt: Date.now() + 7_200_000 }],
      ['PATCH', `/api/accounts/${guardId}`, { password: other.password }],
      ['DELETE', `/api/accounts/${guardId}`, undefined],
      ['POST', '/tokens', { name: 'x', accountId: guardId }],
      ['DELETE', `/tokens/${mine.id}`, undefined],
    ] as const)
      t.match(await builder.call(method, path, body), { status: 403, body: { error: 'installer_account' } }, path)
    t.equal((await builder.call('PATCH', `/api/cameras/${door}`, { name: 'Door' })).status, 200, 'what it is there for')
    t.equal((await withToken(mine.token).call('GET', '/api/cameras')).status, 200)
    for (const path of [`/tokens/${mine.id}`, `/api/accounts/${id}`]) await boss.call('DELETE', path)
  },
)

t.test('A.Errors.403 a read-only token is refused every write, before a route looks at it', async (t) => {
  const system = withToken((await tokenOf({ readOnly: true })).token)
  t.equal((await system.call('GET', '/api/accounts')).status, 200)
  const refused = { status: 403, body: { error: 'read_only_token' } }
  t.match(await system.call('PATCH', '/api/onboarding', { step: 'ai' }), refused)
  t.match(await system.call('DELETE', `/api/cameras/${door}`), refused)
  t.match(await system.call('POST', '/tokens', { name: 'x' }), refused)
  for (const path of ['/api/cameras/ffffffff', '/api/cameras/..%2f', '/api/accounts/none'])
    t.match(await system.call('PATCH', path, 'no object'), refused, path)
})

t.test(
  'A.token it may what the role of its account may, and its coming and going is in the account history',
  async (t) => {
    const { id, token } = await tokenOf({ accountId: guardId })
    const system = withToken(token)
    t.match((await system.call('GET', '/api/status')).body, { cameras: 1, account: { username: 'guard' }, csrf: null })
    for (const path of ['/api/health', '/api/accounts', '/tokens', '/api/journal', '/api/onboarding'])
      t.match(await system.call('GET', path), { status: 403, body: { error: 'forbidden' } }, path)
    t.equal((await system.call('PATCH', `/api/cameras/${door}`, { name: 'Gate' })).status, 403)
    await boss.call('DELETE', `/tokens/${id}`)
    const [gone, made] = (await boss.call('GET', `/api/accounts/${guardId}/history`)).body
    t.match(
      [gone, made],
      [
        { what: 'token revoked', who: 'admin', detail: { token: id } },
        { what: 'token made', who: 'admin', detail: { token: id } },
      ],
    )
  },
)

t.test('A.token one that has expired is refused exactly as one that was revoked', async (t) => {
  const brief = withToken((await tokenOf({ expiresAt: Date.now() + 1000 })).token)
  const { id, token } = await tokenOf({})
  const revoked = withToken(token)
  await boss.call('DELETE', `/tokens/${id}`)
  await until('it has expired', async () => (await brief.call('GET', '/api/cameras')).status === 401)
  const told = async (client: typeof brief) => {
    const { body, headers, status } = await client.call('GET', '/api/cameras')
    return { status, body, headers: [...headers].filter(([name]) => name !== 'date') }
  }
  t.same(await told(brief), await told(revoked))
})

t.test('A.Limits availability of all cameras wants both bounds, at most 31 days apart', async (t) => {
  const month = 31 * 86_400_000
  const asked = async (query: string) => (await guard.call('GET', `/api/recordings/availability?${query}`)).status
  t.equal(await asked(`from=0&to=${month}`), 200)
  for (const query of ['', 'from=0', 'to=1', `from=0&to=${month + 1}`, 'from=1&to=1', 'from=a&to=1', 'from=-1&to=1'])
    t.equal(await asked(query), 400, query)
})

t.test('A.authentication.2 a token in the address is taken for playback, and nowhere else', async (t) => {
  await until(
    'three seconds are kept',
    async () => {
      const bounds = await boundsOf(door)
      return bounds !== null && bounds.end - bounds.start >= 3000
    },
    LONG_MS,
  )
  const { start } = (await boundsOf(door)) ?? { start: 0 }
  const { token } = await tokenOf({ accountId: guardId })
  const path = `/api/cameras/${door}/playback.mp4?start=${start}&duration=2`
  const { host } = new URL(recorder.url)
  t.ok((await framesOf(`http://any:${token}@${host}${path}`)) >= 30, 'as the password of a player')
  t.ok((await framesOf(`http://${host}${path}&token=${token}`)) >= 30, 'in the address')
  for (const other of [
    '/api/cameras',
    `/api/cameras/${door}/availability?from=0&to=1`,
    '/api/openapi.json',
    '/api/status',
  ]) {
    const answer = await stranger.call('GET', `${other}${other.includes('?') ? '&' : '?'}token=${token}`)
    t.ok(answer.status === 401 || answer.body.account === null, other)
  }
  for (const [method, path] of [
    ['DELETE', `/api/cameras/${door}`],
    ['POST', '/api/logout'],
    ['GET', '/metrics'],
    ['GET', `/api/cameras/${door}/preserve`],
  ] as const)
    t.equal((await stranger.call(method, `${path}?token=${token}`)).status, 401, `${method} ${path}`)
  for (const wrong of [`Token=${token}`, `tokens=${token}`, `token=${token}&token=${token}`, `ticket=${token}`])
    t.equal((await stranger.call('GET', `${path}&${wrong}`)).status, 401, wrong)
  t.equal(
    (await stranger.call('GET', `/api/cameras/${yard}/playback.mp4?start=0&duration=1&token=${token}`)).status,
    404,
  )
})

t.test('older footage and files to keep need the permission export, and are written down', async (t) => {
  const { start } = (await boundsOf(door)) ?? { start: 0 }
  const download = `/api/cameras/${door}/playback.mp4?start=${start}&duration=1&download=1`
  t.match(await guard.call('GET', download), { status: 403, body: { error: 'permission_needed' } })
  const old = await guard.call('GET', `/api/cameras/${door}/playback.mp4?start=${Date.now() - 121_000}&duration=1`)
  t.match(old, { status: 403, body: { error: 'permission_needed' } }, 'before it is told whether there is any')
  await boss.call('PATCH', `/api/accounts/${guardId}`, { permissions: ['export'] })
  t.equal((await guard.call('GET', download)).status, 200)
  const history = (await boss.call('GET', `/api/accounts/${guardId}/history`)).body.map(
    ({ what }: { what: string }) => what,
  )
  t.same(
    [...new Set(history)],
    ['footage taken out', 'account changed', 'token made', 'token revoked', 'signed in', 'account made'],
  )
})

t.test('3A.plans an administrator makes plans, and others see of them the cameras that they may see', async (t) => {
  const image = png(400, 300)
  t.equal((await guard.send('POST', '/api/site-plans?name=Mine', image)).status, 403)
  for (const [bytes, status, error] of [
    [webp(vp8(10, 10)), 400, 'bad_plan_image'],
    [hugePng(8001, 10), 400, 'bad_plan_image'],
    [Buffer.alloc(8_388_609), 413, 'body_too_large'],
  ] as const)
    t.match(await boss.send('POST', '/api/site-plans?name=Bad', bytes), { status, body: { error } })
  t.equal((await boss.send('POST', '/api/site-plans', image)).status, 400, 'a plan has a name')
  const made = await boss.send('POST', '/api/site-plans?name=Ground%20floor', image)
  t.match(made, { status: 201, body: { name: 'Ground floor', width: 400, height: 300 } })
  const { id: planId } = made.body
  t.same((await guard.call('GET', '/api/site-plans')).body.plans, [], 'none of its cameras is on it')
  const wish = { planId, x: 200, y: 100, headingDeg: 90, hfovDeg: 70, rangePx: 80 }
  for (const id of [door, yard])
    t.match(await boss.call('PUT', `/api/cameras/${id}/plan`, { placement: wish }), {
      status: 200,
      body: { placement: { ...wish, calibration: null } },
    })
  t.same((await guard.call('GET', '/api/site-plans')).body, {
    plans: [{ id: planId, name: 'Ground floor', width: 400, height: 300 }],
    placements: { [door]: { ...wish, calibration: null } },
    limits: (await boss.call('GET', '/api/site-plans')).body.limits,
  })
  const [listed] = (await guard.call('GET', '/api/cameras')).body
  const { rangePx: _, ...told } = wish
  t.same(listed.planPlacement, { ...told, calibrated: null })
  const shown = await fetch(`${recorder.url}/api/site-plans/${planId}/image`, { headers: headersOf(guard.credentials) })
  t.same([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
  t.same(Buffer.from(await shown.arrayBuffer()), image)
  const points = [
    { picture: [0.2, 0.4], plan: [100, 100] },
    { picture: [0.8, 0.4], plan: [300, 100] },
    { picture: [0.9, 0.9], plan: [300, 200] },
    { picture: [0.1, 0.9], plan: [100, 200] },
  ]
  const path = `/api/cameras/${door}/plan`
  const fitted = await boss.call('PUT', `${path}/points`, { points })
  t.match(fitted, {
    status: 200,
    body: { fit: { residualPx: Number }, placement: { calibration: { kind: 'homography' } } },
  })
  t.equal(fitted.body.fit.errorsPx.length, 4)
  t.match(await boss.call('PUT', `${path}/points`, { points: points.slice(1) }), {
    status: 400,
    body: { error: 'bad_points' },
  })
  t.equal((await guard.call('GET', '/api/cameras')).body[0].planPlacement.calibrated, 'homography')
  t.match(
    await boss.call('PUT', `${path}/samples`, { samples: [{ position: { pan: 0, tilt: 0, zoom: 0 }, plan: [1, 1] }] }),
    {
      ...{ status: 409, body: { error: 'no_ptz_geometry' } },
    },
  )
  t.match(await boss.call('POST', `${path}/aim`, { x: 1, y: 1 }), {
    status: 409,
    body: { error: 'heading_not_calibrated' },
  })
  t.equal((await guard.call('POST', `${path}/aim`, { x: 1, y: 1 })).status, 403)
  t.equal((await guard.call('GET', `${path}/looking`)).status, 403)
  t.match(await boss.send('PUT', `/api/site-plans/${planId}/image`, jpeg(800, 600)), {
    body: { width: 800, height: 600 },
  })
  t.match((await boss.call('GET', '/api/site-plans')).body.placements[door], { x: 400, y: 200, calibration: null })
  for (const [method, of, body] of [
    ['PATCH', `/api/site-plans/${planId}`, { name: 'x' }],
    ['DELETE', `/api/site-plans/${planId}`, undefined],
    ['PUT', path, { placement: null }],
    ['PUT', `${path}/points`, { points: [] }],
    ['PUT', `${path}/samples`, { samples: [] }],
  ] as const)
    t.equal((await guard.call(method, of, body)).status, 403, of)
  t.match((await boss.call('PATCH', `/api/site-plans/${planId}`, { name: 'Lobby' })).body, {
    name: 'Lobby',
    width: 800,
  })
  t.equal((await boss.call('DELETE', `/api/site-plans/${planId}`)).status, 204)
  t.equal((await guard.call('GET', '/api/cameras')).body[0].planPlacement, null)
  t.equal((await boss.call('GET', `/api/site-plans/${planId}/image`)).status, 404)
})

t.test('a revocation ends what is open at once, and streams are bounded by account', async (t) => {
  await until(
    'enough is kept',
    async () => (await boss.call('GET', '/api/health')).body.footageBytes >= ENOUGH_BYTES,
    LONG_MS,
  )
  const { end, start } = (await boundsOf(door)) ?? { start: 0, end: 0 }
  const path = `/api/cameras/${door}/playback.mp4?start=${start}&duration=${(end - start) / 1000}`
  const { id, token } = await tokenOf({})
  const headers = headersOf({ token })
  const [one, other] = [await openUnread(path, headers), await openUnread(path, headers)]
  t.same([one.status, other.status], [200, 200])
  t.match(
    await boss.call('GET', path),
    { status: 429, body: { error: 'too_many_streams' } },
    'of one account, by whatever it signs in',
  )
  const frame = `/api/cameras/${door}/frame.jpg?at=${start}`
  t.match(
    await boss.call('GET', frame),
    { status: 429, body: { error: 'too_many_streams' } },
    'a frame takes a place too',
  )
  const night = clientOf(recorder.url)
  await boss.call('POST', '/api/accounts', { ...guardWish, username: 'night', permissions: ['export'] })
  await night.signIn({ ...guardLogin, username: 'night' })
  const third = await openUnread(path, headersOf(night.credentials))
  t.equal(third.status, 200)
  t.match(await night.call('GET', path), { status: 429, body: { error: 'too_many_streams' } }, 'of all together')
  third.end()
  other.end()
  t.equal((await boss.call('DELETE', `/tokens/${id}`)).status, 204)
  t.equal(await one.rest(), false, 'it was cut off')
  await until('its places are free', async () => {
    const again = await openUnread(path, headersOf(boss.credentials))
    again.end()
    return again.status === 200
  })
})

t.test('a new password ends the sign-ins of an account, and an account that is removed is a stranger', async (t) => {
  await boss.call('PATCH', `/api/accounts/${guardId}`, { password: 'another long one' })
  t.equal((await guard.call('GET', '/api/cameras')).status, 401)
  t.equal((await guard.signIn(guardLogin)).status, 401)
  t.equal((await guard.signIn({ ...guardLogin, username: 'Guard', password: 'another long one' })).status, 200)
  const wish = { current: 'another long one', password: 'a third long one' }
  const stale = { ...guard.credentials }
  t.equal((await guard.call('POST', '/api/me/password', wish)).status, 200)
  t.equal((await clientOf(recorder.url, stale).call('GET', '/api/cameras')).status, 401)
  const { token } = await tokenOf({ accountId: guardId })
  t.equal((await boss.call('DELETE', `/api/accounts/${guardId}`)).status, 204)
  t.equal((await withToken(token).call('GET', '/api/cameras')).status, 401)
  t.equal((await boss.call('GET', `/api/accounts/${guardId}/history`)).status, 404)
  t.equal(
    (await boss.call('GET', '/tokens')).body.filter((one: { accountId: string }) => one.accountId === guardId).length,
    0,
  )
})
