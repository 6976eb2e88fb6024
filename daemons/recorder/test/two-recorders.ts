/** Two recorders that differ by cameras that an account may not see: the same footage, accounts and tokens in both. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { png } from '#kit/test/pictures.ts'
import { type Owner, type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { groupOf } from '../core/sight/labels.ts'
import { openEventStore } from '../io/event-store.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { type Client, clientOf } from './client.ts'
import { makeCountingFilm } from './counting-film.ts'

export const login = { username: 'guard', password: 'seven long words' }
export const keeperLogin = { username: 'keeper', password: 'eight rather long words' }

const FOOTAGE_MS = 3000
/** Decoder and disk may be slow on a busy machine, and nothing here is about that. */
const sets = [
  'storage.free_bytes=0',
  'storage.file_s=5',
  'storage.stuck_ms=60000',
  'pictures.stream_wait_s=1',
  `pictures.start_ms=${LONG_MS}`,
  `pictures.answer_ms=${LONG_MS}`,
]

/** Ids of what both have, and of what only one has. */
export interface World {
  /** Of cameras that the accounts may see: the first plain, the second with privacy masks. */
  own: [string, string]
  /** Of cameras that they may not see. */
  foreign: [string, string]
  /** Plans with a camera of their own on them, and without. */
  plans: { own: string; foreign: string }
  /** Preserved stretches. */
  stretches: { own: string; foreign: string }
  accounts: { admin: string; guard: string; keeper: string }
  tokens: { guard: string; readOnly: string }
  tokenIds: string[]
  /** Ids of what was seen of all cameras, and of nothing. */
  events: string[]
  /** The footage of the first camera. */
  bounds: { start: number; end: number }
}

export interface Pair {
  world: World
  /** With all cameras, and with those alone that the accounts may see. */
  whole: RunningDaemon
  small: RunningDaemon
  /** The administrator of the first one. */
  boss: Client
  camera: { url: string }
}

const masks = [
  [
    [0.5, 0.5],
    [1, 0.5],
    [1, 1],
  ],
]

/** Records some footage of each camera, copies everything, and takes the foreign cameras out of the copy. */
export async function openPair(t: Owner, work: string): Promise<Pair> {
  const camera = await startCamera(t, await makeCountingFilm(work, 60))
  const first = await startDaemon(t, 'recorder', { stateFolder: join(work, 'whole'), sets })
  const world = await furnish(clientOf(first.url), camera.url)
  await first.stop()
  for (const part of ['', '-footage', '-index'])
    cpSync(join(work, `whole${part}`), join(work, `small${part}`), { recursive: true })
  takeOut(join(work, 'small'), world.foreign)
  world.events = [...(await seeEvents(join(work, 'whole'), world)), `${world.foreign[0]}-1-1`, 'x', '%00']
  await seeEvents(join(work, 'small'), { ...world, foreign: [] })
  const whole = await startDaemon(t, 'recorder', { stateFolder: join(work, 'whole'), sets })
  const small = await startDaemon(t, 'recorder', { stateFolder: join(work, 'small'), sets })
  const boss = clientOf(whole.url)
  await boss.signIn()
  // One that is lost is in the ledger, on the feed of who sees it, and in health.
  await boss.call('PATCH', `/api/cameras/${world.foreign[0]}`, { url: 'rtsp://127.0.0.1:1/gone', enabled: true })
  await until('it is lost', async () => (await boss.call('GET', '/api/ledger')).body.entries.length > 0, LONG_MS)
  return { world, whole, small, boss, camera }
}

async function furnish(boss: Client, url: string): Promise<World> {
  await boss.setUp()
  // Made when it is asked for first, and each one is another.
  await boss.call('GET', '/api/system/ca-cert')
  const ids: string[] = []
  // The foreign ones before, between and behind: an order or a number would tell of them.
  for (const name of ['Vault', 'Door', 'Yard', 'Safe'])
    ids.push((await boss.call('POST', '/api/discovery/rtsp', { name, url })).body.id)
  const [vault = '', door = '', yard = '', safe = ''] = ids
  await boss.call('PATCH', `/api/cameras/${yard}`, { masks })
  for (const id of ids)
    await until('seconds are kept', async () => lengthOf(await boundsOf(boss, id)) >= FOOTAGE_MS, LONG_MS)
  // What is off changes no more: each answer about it can be compared to the byte.
  for (const id of ids) await boss.call('PATCH', `/api/cameras/${id}`, { enabled: false })
  const cameras = [door, yard]
  const guard = await boss.call('POST', '/api/accounts', { ...login, role: 'viewer', cameras })
  const permissions = ['export', 'talk', 'outputs']
  const wish = { ...keeperLogin, role: 'operator', cameras, permissions }
  const keeper = await boss.call('POST', '/api/accounts', wish)
  const tokenOf = async (more: object) => (await boss.call('POST', '/tokens', { name: 'x', ...more })).body
  const tokens = await Promise.all([
    tokenOf({ accountId: guard.body.id }),
    tokenOf({ accountId: keeper.body.id, readOnly: true }),
  ])
  const bounds = await boundsOf(boss, door)
  const stretchOf = async (id: string) => {
    const { start: from, end: to } = await boundsOf(boss, id)
    return (await boss.call('POST', `/api/cameras/${id}/preserve`, { from, to })).body.id as string
  }
  return {
    own: [door, yard],
    foreign: [vault, safe],
    plans: await makePlans(boss, [door, safe], [vault]),
    stretches: { foreign: await stretchOf(safe), own: await stretchOf(door) },
    accounts: { admin: '', guard: guard.body.id, keeper: keeper.body.id },
    tokens: { guard: tokens[0].token, readOnly: tokens[1].token },
    tokenIds: tokens.map(({ id }) => id),
    events: [],
    bounds,
  }
}

/** @param shared cameras on the plan that others see too; @param hidden cameras on the other one */
async function makePlans(boss: Client, shared: readonly string[], hidden: readonly string[]): Promise<World['plans']> {
  const make = async (name: string, cameras: readonly string[]) => {
    const { id: planId } = (await boss.send('POST', `/api/site-plans?name=${name}`, png(400, 300))).body
    const placement = { planId, x: 200, y: 100, headingDeg: 90, hfovDeg: 70, rangePx: 80 }
    for (const camera of cameras) await boss.call('PUT', `/api/cameras/${camera}/plan`, { placement })
    return planId as string
  }
  // That of others before it: an order would tell.
  const foreign = await make('Vaults', hidden)
  return { foreign, own: await make('Ground', shared) }
}

/** As if somebody and a car had been seen of each camera. */
async function seeEvents(
  state: string,
  { bounds, foreign, own }: { bounds: World['bounds']; foreign: readonly string[]; own: readonly string[] },
) {
  const folder = `${state}-index`
  mkdirSync(folder, { recursive: true })
  const store = openEventStore({ folder, limits: { events: 1000, pieces: 1000, readings: 1000 }, onPutAside() {} })
  const beganAt = Math.round((bounds.start + bounds.end) / 2)
  const box = [0.25, 0.25, 0.5, 0.5] as const
  const events = [...foreign, ...own].flatMap((cameraId) =>
    ['person', 'car'].map((label, number) => ({
      ...{ id: `${cameraId}-${beganAt + number}-${number}`, cameraId, label, group: groupOf(label), score: 0.9, box },
      ...{ beganAt: beganAt + number, lastAt: beganAt + 200, endedAt: beganAt + 200, bestAt: beganAt + 100 },
      source: 'external' as const,
    })),
  )
  const sightings = [0, 100].map((ms) => ({ at: beganAt + ms, score: 0.9, box }))
  const pieces = [...foreign, ...own].map((cameraId) => ({ cameraId, trackId: 1, label: 'person', sightings }))
  await store.put(events, pieces)
  await store.close()
  return events.map(({ id }) => id)
}

async function boundsOf(boss: Client, id: string): Promise<World['bounds']> {
  const { body } = await boss.call('GET', `/api/cameras/${id}/availability?from=0&to=1`)
  return body.bounds ?? { start: 0, end: 0 }
}

function lengthOf({ end, start }: World['bounds']): number {
  return end - start
}

/** As if they had never been. */
function takeOut(state: string, foreign: readonly string[]): void {
  for (const file of ['cameras.json', 'cameras.json.bak'])
    change(join(state, file), (saved) => {
      saved.cameras = saved.cameras.filter(({ id }: { id: string }) => !foreign.includes(id))
    })
  change(join(state, 'storage.json'), (saved) => {
    saved.known = []
    saved.preserved = saved.preserved.filter(({ camera }: { camera: string }) => !foreign.includes(camera))
  })
  for (const file of ['storage.json.bak', 'ledger.jsonl', 'journal.jsonl']) rmSync(join(state, file), { force: true })
  for (const id of foreign) rmSync(`${state}-footage/${id}`, { recursive: true })
  rmSync(`${state}-index`, { recursive: true })
}

// biome-ignore lint/suspicious/noExplicitAny: the saved state, as it lies on the disk
function change(file: string, how: (saved: any) => void): void {
  const saved = JSON.parse(readFileSync(file, 'utf8'))
  how(saved)
  writeFileSync(file, JSON.stringify(saved))
}
