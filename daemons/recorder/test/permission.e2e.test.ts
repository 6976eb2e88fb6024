/**
 * What an account limited to some cameras is told by the built recorder is, byte for byte, what a recorder would tell it
 * that has those cameras alone.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { LONG_MS } from './camera.ts'
import { type Client, clientOf, headersOf } from './client.ts'
import { type Ask, asksOf, casesOf } from './permission-cases.ts'
import { keeperLogin, login, openPair } from './two-recorders.ts'

const work = stateFolderOf(t)
const { boss, small, whole, world } = await openPair(t, work)
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
t.teardown(() => agent.destroy())

interface Told {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** Asks without changing the path, as no library does. */
async function told(url: string, { body, method, path }: Ask, credentials: Record<string, string>): Promise<Told> {
  const { hostname, port } = new URL(url)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const more =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return await new Promise((resolve, reject) => {
    const asked = request(
      { agent, hostname, port, method, path, headers: { ...credentials, ...more } },
      async (answer) => {
        try {
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers as Told['headers'],
            body: await buffer(answer),
          })
        } catch (error) {
          reject(error)
        }
      },
    )
    asked.on('error', reject)
    asked.end(text)
  })
}

/** What cannot be the same in two recorders, whatever their cameras are. */
const OWN: readonly [RegExp, string][] = [
  // How long it runs, and since when: they were not started in the same millisecond.
  [/"(uptimeMs|stateSince|keptSince)":\d+/g, '"$1":0'],
  // Names the session, and is random.
  [/"csrf":"[\w-]{43}"/g, '"csrf":""'],
  // When a stretch was preserved by this test, and its random name.
  [/"by":"keeper","at":\d+,"id":"[0-9a-f]{8}"/g, '"by":"keeper"'],
]

/**
 * A film with masks is coded anew, where two threads of the encoder share the bits as they come along: twice the same is not
 * the same to the byte, even in one recorder. What it is of stands before its pictures.
 */
function withoutPictures(told: Told): Told {
  const end = told.body.indexOf('moof')
  return { ...told, body: end < 0 ? told.body : told.body.subarray(0, end) }
}

/** In words, so that a difference can be read. The length of a body follows from it. */
function wordsOf({ body, headers: { date: _, 'content-length': __, ...headers }, status }: Told): string {
  const type = headers['content-type'] ?? ''
  const text = /json|text/.test(type) ? body.toString() : body.toString('base64')
  return `${status} ${JSON.stringify(headers)} ${OWN.reduce((all, [from, to]) => all.replaceAll(from, to), text)}`
}

async function signedIn(who: { username: string; password: string }) {
  const both = [whole, small].map(({ url }) => clientOf(url))
  for (const client of both) await client.signIn(who)
  return both.map(({ credentials }) => headersOf(credentials))
}

const bearer = (token: string) => [headersOf({ token }), headersOf({ token })]

const callers: Record<string, Record<string, string>[]> = {
  stranger: [{}, {}],
  guard: await signedIn(login),
  'guard by token': bearer(world.tokens.guard),
  keeper: await signedIn(keeperLogin),
  'keeper by a read-only token': bearer(world.tokens.readOnly),
}

/** Differences between the two, as they are told to one caller. */
async function differencesOf(asks: readonly Ask[], [ofWhole = {}, ofSmall = {}]: Record<string, string>[]) {
  const found: string[] = []
  for (const ask of asks) {
    const answers = await Promise.all([told(whole.url, ask, ofWhole), told(small.url, ask, ofSmall)])
    const isMasked = ask.path.includes(`/${world.own[1]}/playback.mp4`)
    const [one = '', other = ''] = answers.map((told) => wordsOf(isMasked ? withoutPictures(told) : told))
    if (one !== other) found.push(`${ask.method} ${ask.path}\n  ${one.slice(0, 600)}\n  ${other.slice(0, 600)}`)
  }
  return found
}

/** Every route, by whether only administrators may call it. A description has no sockets; the chapter has them. */
async function routesOf(): Promise<Map<string, boolean>> {
  const { paths } = (await boss.call('GET', '/api/openapi.json')).body as {
    paths: Record<string, Record<string, Operation>>
  }
  const chapter = readFileSync(join(import.meta.dirname, '../../../docs/recorder.md'), 'utf8')
  return new Map([
    ...Object.entries(paths).flatMap(([path, of]) =>
      Object.entries(of).map(([method, { description }]) => {
        return [`${method.toUpperCase()} ${path}`, description === 'For administrators.'] as const
      }),
    ),
    ...[...chapter.matchAll(/^\| (WS \| `[^`]+)` \| (\w+)/gm)].map(([, socket = '', who]) => {
      return [socket.replace('| `', ''), who === 'admin'] as const
    }),
  ])
}

interface Operation {
  description: string
}

const routes = await routesOf()

t.test('each route that not only administrators may call has its cases here', async (t) => {
  const open = [...routes].flatMap(([route, isForAdmins]) => (isForAdmins ? [] : [route]))
  t.same(Object.keys(casesOf(world)).toSorted(), open.toSorted())
  t.ok(routes.size >= 50)
})

const asks = [...routes.keys()].flatMap((route) => asksOf(route, world))
const isLast = ({ path }: Ask) => (path === '/api/logout' ? 1 : 0)
asks.sort((a, b) => isLast(a) - isLast(b))
const plainAsks = asks.filter(({ isOdd }) => !isOdd)

for (const [name, credentials] of Object.entries(callers))
  t.test(`A.authentication.7 ${name} is told what a recorder without the other cameras would tell`, async (t) => {
    // An id is read by the same function, by whatever an account signs in.
    t.same(await differencesOf(name.includes('token') ? plainAsks : asks, credentials), [])
  })

/** Opens the pages, and keeps what they ask for. */
async function openPages(t: Test, url: string) {
  const { page, visit } = await openRig(t, url)
  const asked = new Set<string>()
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    // A page that is left soon asks less of a camera that may be seen: whether it does goes by how fast it is.
    if (!world.own.some((id) => pathname.includes(id))) asked.add(`${request.method()} ${pathname}`)
  })
  await page.getByLabel('User name').fill(login.username)
  await page.getByLabel('Password').fill(login.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await countIs(page.getByLabel('Password'), 0)
  return { page, visit, asked }
}

/** What a page shows, without times and its address. */
async function shownBy(page: Page): Promise<string> {
  const text = await page.evaluate<string>('document.title + document.body.innerText')
  return text.replaceAll(/127\.0\.0\.1:\d+|\d+:\d\d(:\d\d)?|\d+ (s|min|h)\b/g, '')
}

/** Times all pages are looked at again before a difference counts. */
const LOOKS_AGAIN = 3

t.test('A.authentication.7 each page shows and asks for the same', { skip: noBrowser }, async (t) => {
  const pages = [await openPages(t, whole.url), await openPages(t, small.url)]
  const [door] = world.own
  const [, safe] = world.foreign
  const places = [
    ...[['wall'], ['cameras'], ['camera', door], ['camera', safe], ['playback', door], ['playback', safe]],
    ...[['plan'], ['plan', world.plans.own], ['plan', world.plans.foreign]],
    ...[['playback', safe, String(world.bounds.start)], ['accounts'], ['health'], ['today'], ['journal']],
  ]
  const look = async () => {
    for (const words of places) {
      for (const { visit } of pages) await visit(...words)
      const texts = () => Promise.all(pages.map(({ page }) => shownBy(page)))
      await until(`${words} shows the same`, async () => new Set(await texts()).size === 1, LONG_MS)
      t.notMatch((await texts())[0], /Vault|Safe|Strong room|Till/, words.join('/'))
    }
  }
  await look()
  const [one, other] = pages.map(({ asked }) => asked) as [Set<string>, Set<string>]
  // What a page asks for last is not asked when it is left just then, so a difference counts that stays when all is looked at again.
  const byOneAlone = () => [...one, ...other].filter((request) => !(one.has(request) && other.has(request)))
  for (let again = 0; again < LOOKS_AGAIN && byOneAlone().length > 0; again++) await look()
  t.same(byOneAlone(), [], 'asked for by one of them alone')
  t.ok(one.has('GET /api/cameras'))
})

/** Opens the status feed, and keeps what it tells but heartbeats. */
function listen(url: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?token=${token}`)
  t.teardown(() => socket.terminate())
  // biome-ignore lint/suspicious/noExplicitAny: a message is what a test looks into
  const heard: any[] = []
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    if (message.type !== 'heartbeat') heard.push(message)
  })
  return heard
}

/** What an administrator does with cameras that others may not see. */
async function changeForeign(client: Client): Promise<void> {
  const [vault, safe] = world.foreign
  const { end, start } = world.bounds
  await client.call('PATCH', `/api/cameras/${safe}`, { name: 'Strong room', enabled: true, masks: [], audio: false })
  await client.call('POST', `/api/cameras/${safe}/preserve`, { from: start, to: end })
  await client.call('PATCH', '/api/storage/settings', { cameras: { [safe]: 30 } })
  await client.call('PATCH', `/api/site-plans/${world.plans.foreign}`, { name: 'Vaults below' })
  const { body } = await client.call('GET', '/api/site-plans')
  const { calibration: _, ...placement } = body.placements[safe]
  await client.call('PUT', `/api/cameras/${safe}/plan`, { placement: { ...placement, x: 7 } })
  await client.call('POST', '/api/discovery/rtsp', { name: 'Till', url: 'rtsp://127.0.0.1:1/none' })
  await client.call('DELETE', `/api/cameras/${vault}`)
  const recording = async () => {
    const { body } = await client.call('GET', '/api/cameras')
    return body.find(({ id }: { id: string }) => id === safe).health.state === 'recording'
  }
  await until('a camera of others is recorded', recording, LONG_MS)
}

t.test('A.Events.2 neither the feed nor a route tells what happens to cameras of others', async (t) => {
  const feeds = [whole, small].map(({ url }) => listen(url, world.tokens.guard))
  await until('both greet', () => feeds.every(({ length }) => length > 0), LONG_MS)
  const greetings = feeds.map(([{ at: _, ...hello }]) => JSON.stringify(hello).replaceAll(/"stateSince":\d+/g, ''))
  t.match(greetings[0], /^\{"type":"hello","cameras":\[\{"id"/)
  t.equal(greetings[0], greetings[1])
  await changeForeign(boss)
  t.same(await differencesOf(plainAsks, await signedIn(login)), [])
  const smallBoss = clientOf(small.url)
  await smallBoss.signIn()
  const [door] = world.own
  for (const client of [boss, smallBoss]) await client.call('PATCH', `/api/cameras/${door}`, { enabled: true })
  for (const heard of feeds) {
    await until('it is recorded', () => heard.at(-1).camera?.health.state === 'recording', LONG_MS)
    t.same([...new Set(heard.slice(1).map(({ cameraId, type }) => `${type} ${cameraId}`))], [`camera-state ${door}`])
  }
  // Messages come in order: what was told of the others would have come before.
  for (const client of [boss, smallBoss]) await client.call('PATCH', `/api/cameras/${door}`, { enabled: false })
})
