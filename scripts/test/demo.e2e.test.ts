/** The demo as a person starts it, asked over its API, and ended by Ctrl-C. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'

const run = promisify(execFile)
const COMMAND = join(import.meta.dirname, '../../build/plantroom')
/** Ten processes one after another, on a machine that may be busy with other tests. */
const START_MS = 120_000
/** Two releases are packed, of which one is put in the place of the other, behind all else that runs. */
const UPDATE_MS = 180_000
/** Polls that have to come and fail before a unit is called silent. */
const SILENT_MS = 30_000

interface Demo {
  url: string
  /** Until it had started. */
  said: string
  /** Until now. */
  told(): string
  child: ChildProcess
  meters: string
  cellar: string
  flats: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer is what a test looks into
  get(path: string, bearer?: string): Promise<any>
  /** Posts to the gateway, as its administrator. */
  send(path: string, body: object): Promise<void>
}

const ASK_AGAIN_MS = 200
/** What was started ends a moment after its daemon, seconds on a busy machine. */
const LEFT_MS = 10_000

/** Asks until it is true; the assertions after it say what was missing when it never is. */
async function until(isTrue: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isTrue()) && performance.now() < endMs) await sleep(ASK_AGAIN_MS)
}

/** What is there of them still: what a daemon started hears of its end by a closed pipe, a moment after it. */
async function left(pids: readonly number[]): Promise<number[]> {
  const alive = () => pids.filter((pid) => existsSync(`/proc/${pid}`))
  await until(() => alive().length === 0, LEFT_MS)
  return alive()
}

async function startDemo(t: Test, listen: string, env = process.env): Promise<Demo> {
  const child = spawn(COMMAND, ['demo', '--listen', listen], { stdio: ['ignore', 'pipe', 'pipe'], env })
  t.teardown(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  await until(() => said.includes('/dev/tcp/') || child.exitCode !== null, START_MS)
  const of = (pattern: RegExp) => pattern.exec(said)?.[1] ?? t.fail(`it said:\n${said}`).toString()
  const url = of(/Gateway +(http:\S+)\//)
  let token = ''
  async function get(path: string, bearer = token) {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${bearer}` } })
    return await response.json()
  }
  token = await signIn(url, 'admin')
  async function send(path: string, body: object) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    t.equal(response.status, 200, path)
  }
  const line = (name: string) => of(new RegExp(`(/dev/shm/${name}\\S*)`))
  const lines = { meters: line('meters'), cellar: line('cellar'), flats: line('flats') }
  return { url, child, get, send, ...lines, told: () => said, said }
}

async function signIn(url: string, username: string): Promise<string> {
  const response = await fetch(`${url}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: 'plantroom' }),
  })
  return (await response.json()).token
}

/** The building's REST interface, signed in. */
async function buildingOf({ said }: Demo, username: string) {
  const url = /Building +(http:\S+)\//.exec(said)?.[1]
  async function ask(path: string, { body, token }: { body?: object; token?: string } = {}) {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const method = body === undefined ? 'GET' : 'POST'
    return await (await fetch(url + path, { method, headers, body: JSON.stringify(body) })).json()
  }
  const { token } = await ask('/api/token', { body: { username, password: 'plantroom' } })
  const named = async (table: string, name: string) =>
    (await ask(`/api/data/${table}?_instance=true&name=${encodeURIComponent(name)}`, { token }))[0]
  return {
    command: (body: object) => ask('/api/control/command', { body, token }),
    zones: () => ask('/api/data/zone', { token }),
    zone: (name: string) => named('zone', name),
    avZone: (name: string) => named('av_zone', name),
    sourceId: async (name: string) => (await named('av_source', name)).id,
  }
}

const portPath = (path: string, rest: string) => `/api/ports/${encodeURIComponent(path)}${rest}`

/** Every process below this one, by its number. */
function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return children.map(Number).flatMap((child) => [child, ...descendants(child)])
}

t.test('the demo shows live values and every kind of trouble, and leaves nothing behind', async (t) => {
  const demo = await startDemo(t, '127.0.0.1:0')
  // It starts while the first one's units fall silent, and ends before they are waited for: each plays sound for as long as it
  // runs. On a machine that has what README asks for, and no more.
  const bare = { ...process.env, PATH: pathWithout(t, 'curl', 'mbpoll') }
  const starting = startDemo(t, demo.url.replace('http://', ''), bare)
  starting.catch(() => {}) // told where it is waited for

  await t.test('a second demo takes free ports and other names, and ends when who reads it is gone', async (t) => {
    const second = await starting
    t.not(second.url, demo.url)
    t.not(second.meters, demo.meters)
    await tryCommands(t, second)
    t.notMatch(second.said, /curl|mbpoll/)
    const pids = descendants(second.child.pid ?? 0)
    second.child.stdout?.destroy()
    second.child.stderr?.destroy()
    second.child.kill('SIGHUP')
    t.equal((await once(second.child, 'exit'))[0], 0)
    t.same(await left(pids), [], 'nothing of it is left')
  })

  await t.test('Ctrl-C while it starts ends it at once, and nothing is left', async (t) => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('plantroom-demo-')).length
    const before = folders()
    const child = spawn(COMMAND, ['demo', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'ignore'] })
    t.teardown(() => void child.kill('SIGKILL'))
    // Before that it is a shell that looks for Node.
    await once(child.stdout, 'data')
    await until(() => descendants(child.pid ?? 0).length > 0, START_MS)
    const pids = descendants(child.pid ?? 0)
    child.kill('SIGINT')
    t.equal((await once(child, 'exit'))[0], 0)
    t.same(await left(pids), [])
    t.equal(folders(), before)
  })

  await t.test('the values of the healthy line are good and move', async (t) => {
    const values = async () => {
      const { points } = await demo.get(portPath(demo.meters, '/points'))
      return points as { name: string; value: unknown; quality: string }[]
    }
    await until(async () => (await values()).every(({ quality }) => quality === 'good'), SILENT_MS)
    const first = await values()
    await until(async () => {
      const now = await values()
      return now.filter(({ value }, at) => value !== first[at]?.value).length >= 3
    }, SILENT_MS)
    t.ok(first.length > 10, `${first.length} points`)
    const volts = first.find(({ name }) => /volt/i.test(name))?.value
    t.ok(typeof volts === 'number' && volts > 226 && volts < 234, `${volts} V`)
  })

  await t.test('the meters of the flats are read by address and by number', async () => {
    await until(async () => {
      const { points } = await demo.get(portPath(demo.flats, '/points'))
      return points.length === 5 && points.every(({ quality }: { quality: string }) => quality === 'good')
    }, SILENT_MS)
  })

  await t.test('the cellar has a silent unit, a noisy one and a slow one', async (t) => {
    type Unit = { unitId: number; state: string; crcErrors: number; replies: number; lateReplies: number }
    let seen: Unit[] = []
    const unit = (unitId: number) => seen.find((one) => one.unitId === unitId)
    await until(async () => {
      seen = await demo.get(portPath(demo.cellar, '/units'))
      const [noisy, slow] = [unit(12), unit(13)]
      return (
        unit(11)?.state === 'silent' &&
        (noisy?.crcErrors ?? 0) > 0 &&
        (noisy?.replies ?? 0) > 0 &&
        (slow?.lateReplies ?? 0) > 0
      )
    }, SILENT_MS)
    t.equal(unit(11)?.replies, 0)
    t.equal(unit(11)?.state, 'silent')
    t.ok((unit(12)?.crcErrors ?? 0) > 0 && (unit(12)?.replies ?? 0) > 0, 'noise is counted, and answers come through')
    t.ok((unit(13)?.lateReplies ?? 0) > 0)
    const { points } = await demo.get(portPath(demo.cellar, '/points'))
    const dead = points.filter((point: { unitId: number }) => point.unitId === 11)
    t.ok(dead.length > 0 && dead.every((point: { value: unknown }) => point.value === null), 'unknown is null')
  })

  await t.test('each command it prints does what it says', async (t) => {
    await tryCommands(t, demo)
    const relays = async () => {
      const { points } = await demo.get(portPath(demo.meters, '/points'))
      return points
        .filter((point: { name: string }) => /relay \d$/.test(point.name))
        .map((point: { value: unknown }) => point.value)
    }
    await until(async () => (await relays())[2] === true, SILENT_MS)
    t.same(await relays(), [true, false, true, false, false, false, false, false], 'relay 1 by the building')
  })

  await t.test('the recorder records both cameras', async (t) => {
    const url = /Recorder +(http:\S+)\//.exec(demo.said)?.[1]
    const headers = { 'content-type': 'application/json' }
    const login = JSON.stringify({ username: 'admin', password: 'plantroom' })
    const signedIn = await fetch(`${url}/api/login`, { method: 'POST', headers, body: login })
    t.equal(signedIn.status, 200)
    const cookie = signedIn.headers.getSetCookie().map((one) => one.split(';')[0])
    const ask = async (path: string) =>
      await (await fetch(url + path, { headers: { cookie: cookie.join('; ') } })).json()
    type Camera = { id: string; name: string; health: { state: string } }
    let cameras: Camera[] = []
    await until(async () => {
      cameras = await ask('/api/cameras')
      return cameras.length === 2 && cameras.every(({ health }) => health.state === 'recording')
    }, SILENT_MS)
    t.same(cameras.map(({ name }) => name).sort(), ['Entrance', 'Yard'])
    for (const { id, health } of cameras) {
      t.equal(health.state, 'recording')
      await until(async () => (await ask(`/api/cameras/${id}/availability?from=0&to=1`)).bounds !== null, SILENT_MS)
      const { bounds } = await ask(`/api/cameras/${id}/availability?from=0&to=1`)
      t.ok(Math.abs(bounds.end - Date.now()) < SILENT_MS, 'the end of it is just now')
    }
  })

  await t.test('the boards see each other, and share their lines', async (t) => {
    const boards = [...demo.said.matchAll(/Board +(http:\S+)\//g)].map(([, url]) => url ?? '')
    t.equal(boards.length, 5)
    const names = ['Counter', 'Lobby ceiling', 'Lobby kiosk', 'Lobby music', 'Till']
    for (const board of boards) {
      const peers: { name: string }[] = await (await fetch(`${board}/api/peers`)).json()
      // Other boards of this machine, and those of another demo, may be found too.
      t.same(
        names.filter((name) => peers.some((peer) => peer.name === name)),
        names,
      )
    }
    const { ports } = await (await fetch(`${boards[0]}/api/serial`)).json()
    t.match(ports, [
      { label: 'Till scale', state: 'open' },
      { label: 'Parcel scale', mode: 'rfc2217', state: 'open' },
    ])
    t.equal((await fetch(`${boards[1]}/matrix`)).status, 200)
  })

  await t.test('the tone of one lobby is played by the other, and its levels show it', async (t) => {
    const [music = '', ceiling = ''] = [...demo.said.matchAll(/Board +(http:\S+)\/ +Lobby/g)].map(([, url]) => url)
    type Sound = { meters: { peak_db: number[] } | null }
    const decoder = async () => (await (await fetch(`${ceiling}/api/status`)).json()).decoder as Sound & Playing
    type Playing = {
      playing: boolean
      counters: { packets: number; lost: number }
      volume: { volume_db: number }
    }
    await until(async () => (await decoder()).playing && (await decoder()).meters !== null, SILENT_MS)
    const { encoder } = (await (await fetch(`${music}/api/status`)).json()) as { encoder: Sound }
    const { playing, meters, counters, volume } = await decoder()
    t.ok(playing && counters.packets > 0, JSON.stringify(counters))
    const [sent = 0, played = 1] = [encoder.meters?.peak_db[0], meters?.peak_db[0]]
    const wanted = sent + volume.volume_db
    t.ok(Math.abs(wanted - played) < 0.1 && sent > -40, `${sent} dB sent, ${played} dB played of ${wanted}`)
  })

  await t.test('the building has its zones, and whoever it names signs in', async (t) => {
    const counts: unknown[] = []
    for (const username of ['admin', 'operator', 'integrator'])
      counts.push((await (await buildingOf(demo, username)).zones()).length)
    t.same(counts, [47, 47, 47])
  })

  await t.test('the building has a plan of its ground floor, with the picture and the zones on it', async (t) => {
    const url = /Building +(http:\S+)\//.exec(demo.said)?.[1] ?? ''
    const json = { origin: url, 'content-type': 'application/json' }
    const body = JSON.stringify({ username: 'admin', password: 'plantroom' })
    const signedIn = await fetch(`${url}/ui/sign-in`, { method: 'POST', headers: json, body })
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const get = (path: string) => fetch(url + path, { headers: { cookie } })
    const { plans } = await (await get('/ui/zones')).json()
    t.match(plans, [{ name: 'Ground floor plan', width: 1200, height: 720 }])
    t.equal(plans[0].zones.length, 15)
    const picture = await get(`/ui/plan/picture?plan=${plans[0].id}`)
    t.match([picture.status, picture.headers.get('content-type')], [200, 'image/png'])
  })

  await t.test(
    'a command to the building switches a coil, and what happens on the bus is in the building',
    async (t) => {
      const building = await buildingOf(demo, 'integrator')
      const coil = async () => {
        const { points } = await demo.get(portPath(demo.meters, '/points'))
        return points.find(({ name }: { name: string }) => name === 'Lights relay 1').value
      }
      for (const on of [false, true]) {
        t.match(await building.command({ zone: 'Lobby lights', on }), { success: true })
        await until(async () => (await coil()) === on, SILENT_MS)
        t.equal(await coil(), on)
      }
      await demo.send(portPath(demo.meters, '/rest/request'), { unitId: 2, fc: 5, address: 1, values: [true] })
      await until(async () => (await building.zone('Lobby sign')).on === true, SILENT_MS)
      t.match(await building.zone('Lobby sign'), { on: true, state: 'on' })
      const [volts, watts] = [await building.zone('Meter volts'), await building.zone('Meter watts')]
      t.ok(volts.value > 226 && volts.value < 234, `${volts.value} V`)
      t.type(watts.value, 'number')
      t.match(await building.zone('Lobby climate'), { temperature: Number, humidity: Number, error: null })
    },
  )

  await t.test('a command to a sound zone of the building changes what its decoder plays, and how loud', async (t) => {
    const building = await buildingOf(demo, 'integrator')
    const kiosk = /Board +(http:\S+)\/ +Lobby kiosk/.exec(demo.said)?.[1]
    const decoder = async () => (await (await fetch(`${kiosk}/api/status`)).json()).decoder
    const zone = () => building.zone('Lobby kiosk')
    t.match(await building.command({ zone: 'Lobby kiosk', command: 'stop' }), { success: true })
    await until(async () => !(await decoder()).playing, SILENT_MS)
    t.match(await decoder(), { playing: false, route: { mcast: '' } })
    await until(async () => (await zone()).state === 'stopped', SILENT_MS)

    t.match(await building.command({ zone: 'Lobby kiosk', source: 'Lobby music' }), { success: true })
    await until(async () => (await decoder()).playing && (await decoder()).meters?.peak_db[0] > -70, SILENT_MS)
    const { playing, meters, volume } = await decoder()
    t.ok(playing && meters.peak_db[0] > -70, `the tone is there, with ${meters.peak_db[0]} dB`)
    t.equal(volume.volume, 30, 'a zone that was silent begins with its default volume')
    await until(async () => (await zone()).state === 'playing', SILENT_MS)
    t.match(await zone(), { state: 'playing', sound: true })
    t.match(await building.avZone('Lobby kiosk'), { source_id: await building.sourceId('Lobby music'), volume: 30 })

    t.match(await building.command({ zone: 'Lobby kiosk', volume: 55.5 }), { success: true })
    t.equal((await decoder()).volume.volume, 55, 'a board has whole numbers')
    t.match(await building.command({ zone: 'Lobby kiosk', volume: 61 }), { error: 'invalid args' })
    t.match(await building.command({ zone: 'Lobby kiosk', command: 'volume', args: { volume: 'up' } }), {
      success: true,
    })
    t.equal((await decoder()).volume.volume, 60, 'no step passes the limit')
    const ramp = { zone: 'Lobby kiosk', command: 'ramp', args: { volume: 44, duration_ms: 500 } }
    t.match(await building.command(ramp), { success: true })
    await until(async () => (await decoder()).volume.volume === 44, SILENT_MS)
    t.equal((await decoder()).volume.volume, 44, 'a ramp ends where it should')
    t.match(await building.command({ zone: 'Lobby kiosk', mute: true }), { success: true })
    t.equal((await decoder()).volume.mute, true)
  })

  await t.test('the viewer signs in and may not change, the key sees its port alone', async (t) => {
    const viewer = await signIn(demo.url, 'viewer')
    t.equal((await demo.get('/api/users', viewer)).error, 'forbidden')
    const key = /Bearer (\S+)'/.exec(demo.said)?.[1]
    t.equal((await demo.get(portPath(demo.cellar, '/points'), key)).error, 'not_your_port')
  })

  await t.test('C an installation updates itself from the update server, and both say so', async (t) => {
    await until(() => /runs \S+ after|No update can be shown/.test(demo.told()), UPDATE_MS)
    const of = (pattern: RegExp) => pattern.exec(demo.told())?.[1] ?? t.fail(`it said:\n${demo.told()}`).toString()
    const after = of(/runs (\S+) after/)
    for (const step of [
      'the states are kept in',
      'comes as what has changed since',
      'are unpacked',
      'restarting controller',
    ])
      t.match(demo.told(), new RegExp(`\\[UPDATE\\] .*${step}`))
    const installation = of(/Building +(http:\S+)\/#\/system/)
    t.match(await (await fetch(`${installation}/api/version`)).json(), { version: after })
    const server = of(/Updates +(http:\S+)\/admin/)
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ password: 'plantroom' })
    const signedIn = await fetch(`${server}/admin/api/login`, { method: 'POST', headers, body })
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const ask = async (path: string) =>
      await (await fetch(`${server}/admin/api${path}`, { headers: { cookie } })).json()
    const { updates } = await ask('/updates')
    t.match(
      updates,
      [
        { version: after, fetched: 1, applied: 1 },
        { fetched: 1, applied: 1 },
      ],
      'two versions',
    )
    const { installations } = await ask('/installations')
    const [, last] = installations[0].updates
    t.match([installations.length, last], [1, { version: after, outcome: 'applied' }])
  })

  await t.test('Ctrl-C ends it with 0, and nothing of it is left', async (t) => {
    const pids = descendants(demo.child.pid ?? 0)
    t.ok(pids.length > 0)
    demo.child.kill('SIGINT')
    const [code] = await once(demo.child, 'exit')
    t.equal(code, 0)
    t.same(await left(pids), [])
    t.notOk(existsSync(demo.meters) || existsSync(demo.cellar), 'the names of the lines are gone')
    const kept = /kept in (\S+plantroom-demo-[^/]+)/.exec(demo.told())?.[1]
    t.notOk(kept === undefined || existsSync(kept), 'so is the folder of the installation')
  })
})

/** Runs what a demo says to try, each to its end. */
async function tryCommands(t: Test, { said }: Demo): Promise<void> {
  const commands = said.split('\n').filter((line) => /^ {2}(curl|mbpoll|python3|bash) /.test(line))
  t.equal(commands.length, 8)
  for (const command of commands) {
    const { stdout } = await run('sh', ['-c', command])
    t.match(stdout, wanted(command), command)
  }
}

/** What a command prints that does what the demo says it does. */
function wanted(command: string): RegExp {
  if (command.includes('control/command')) return /"success":true/
  if (command.includes('/dev/tcp')) return /ST,GS,[+-] *\d+\.\dkg/
  if (/mcast=\b/.test(command)) return /"mcast":"239\./
  if (command.includes('mcast=')) return /"mcast":""/
  if (command.includes('/points')) return /"quality":"good"/
  return /\[0\]:\s+2[23]\d|Written 1 references|^2[23]\d\.\d+$|^00020000000602050002ff00$/m
}

/** A PATH like this one's, but for some programs: a folder of links to all others. */
function pathWithout(t: Test, ...programs: string[]): string {
  const folder = t.testdir()
  for (const from of ['/usr/bin', '/usr/sbin'])
    for (const name of readdirSync(from))
      if (!programs.includes(name) && !existsSync(join(folder, name))) symlinkSync(join(from, name), join(folder, name))
  return folder
}
