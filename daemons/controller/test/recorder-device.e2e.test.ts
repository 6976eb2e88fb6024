/** A controller over a recorder that it has found, both as built: how its cameras are, and a macro that a camera sets off. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { ask, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openRestSite, type RestSite } from './rest-site.ts'

/** Makes the first account of a recorder. @returns calls it as that one's browser */
async function administratorOf(url: string) {
  const first = { username: 'boss', password: 'correct horse battery' }
  let headers: Record<string, string> = { 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object) =>
    await ask(url + path, { method, headers, body: body && JSON.stringify(body) })
  const { body, headers: given } = await call('POST', '/api/setup', first)
  const cookie = given.getSetCookie().map((one) => one.split(';')[0])
  headers = { ...headers, cookie: cookie.join('; '), 'x-csrf-token': body.csrf }
  return call
}

/** A recorder that a test plays, since cameras of the real one send no pictures here. @returns its port, and what was asked */
async function playRecorder(t: Test): Promise<{ port: number; stills: string[]; pictures: Map<string, Uint8Array> }> {
  const stills: string[] = []
  const pictures = new Map([['yard', Uint8Array.of(0xff, 0xd8, 0xff, 0xd9)]])
  const server = createServer(({ headers, url = '' }, response) => {
    if (url === '/api/identity') return void response.end('{}')
    if (headers.authorization !== 'Bearer prc_played') return void response.writeHead(401).end('{}')
    if (url.startsWith('/api/cameras?'))
      return void response.end(JSON.stringify([{ id: 'yard', name: 'Yard', health: {} }]))
    const [, camera = ''] = /^\/api\/cameras\/(\w+)\/still\.jpg\?width=640$/.exec(url) ?? []
    if (camera !== '') stills.push(camera)
    const picture = pictures.get(camera)
    response.writeHead(picture ? 200 : 404).end(picture ?? '{}')
  })
  const feed = new WebSocketServer({ server })
  feed.on('connection', (ws) => ws.send(JSON.stringify({ type: 'hello', at: 1, cameraIds: ['yard'] })))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const ws of feed.clients) ws.terminate()
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, stills, pictures }
}

/** As somebody does it on the page: adopts what was found under a name, and gives the zones that device. */
async function adopt(site: RestSite, { port, token }: { port: number; token: string }): Promise<void> {
  const page = await site.pageOf('ada')
  // Other recorders of this machine may be heard too.
  const ours = async () =>
    (await page('GET', '/ui/found')).body.found.find((one: { port: number }) => one.port === port)
  await until('it is found', async () => (await ours()) !== undefined)
  const found = await ours()
  t.match(found, { role: 'recorder', driver: 'recorder', address: '127.0.0.1', tls: false, device: null })
  t.equal((await page('POST', '/ui/found/adopt', { id: found.id, name: 'Recorder', secret: token })).status, 200)
  for (const id of [30, 31, 32])
    t.match(await page('POST', '/ui/rows', { table: 'zone', id, values: { device_id: 'Recorder' } }), { status: 200 })
  t.notOk(JSON.stringify((await page('GET', '/ui/pending')).body).includes(token), 'the token is not shown')
  t.equal((await site.applyAll()).status, 200)
  t.match(await ours(), { device: { name: 'Recorder', moved: false } })
}

t.test(
  '3A.camera cameras of a recorder that was found and adopted are zones, and what happens to them sets off macros',
  async (t) => {
    const recorder = await startDaemon(t, 'recorder', { stateFolder: stateFolderOf(t), sets: ['storage.free_bytes=0'] })
    const boss = await administratorOf(recorder.url)
    const added = async (name: string) =>
      (await boss('POST', '/api/discovery/rtsp', { name, url: 'rtsp://127.0.0.1:1/none' })).body.id as string
    const [gate, till] = [await added('Gate'), await added('Till')]
    const account = { username: 'house', password: 'correct horse battery', role: 'operator', cameras: [gate] }
    const accountId = (await boss('POST', '/api/accounts', account)).body.id
    const { id: tokenId, token } = (await boss('POST', '/tokens', { name: 'house', accountId })).body
    t.match(token, /^prc_/)

    const port = Number(new URL(recorder.url).port)
    const played = await playRecorder(t)
    const site = await openRestSite(t, {
      sets: ['mdns.enabled=true', 'found.query_ms=1000', 'drivers.still_ms=600000'],
      rows: {
        device: [
          {
            ...{ id: 21, name: 'Played', driver: 'recorder', api_key: 'prc_played' },
            transport: { kind: 'recorder', host: '127.0.0.1', port: played.port },
          },
        ],
        zone: [
          { id: 30, name: 'Gate', type: 'camera', address: gate },
          { id: 31, name: 'Till', type: 'camera', address: till },
          { id: 33, name: 'Yard', type: 'camera', device_id: 21, address: 'yard' },
          { id: 34, name: 'Safe', type: 'camera', device_id: 21, address: 'safe' },
          { id: 32, name: 'Siren', type: 'relay', address: `${gate}/siren` },
        ],
        macro: [{ id: 1, name: 'Light the gate' }],
        macro_step: [{ macro_id: 1, position: 1, type: 'set', args: { attribute: 'seen', value: '${args.state}' } }],
        attribute: [
          { id: 1, name: 'state', system_target: 'zone', target_id: 30 },
          { id: 2, name: 'seen', system_target: 'controller' },
        ],
        trigger: [
          {
            ...{ name: 'Gate is off', kind: 'attribute', attribute_id: 1, condition: { op: 'eq', value: 'off' } },
            ...{ macro_id: 1, args: { state: '${args.value}' } },
          },
        ],
        ...{
          command: [],
          ui: [{ id: 1, name: 'Ground' }, { name: 'Whole' }],
          ui_zone: [{ ui_id: 1, zone_id: 33 }],
          ui_zone_group_ui: [],
        },
      },
    })
    await adopt(site, { port, token })
    const ada = await site.tokenOf('ada')
    const instance = async (id: number) => (await site.get(`/api/data/zone?id=${id}&_instance=true`, ada)).body[0]
    const command = async (zone_id: number, verb: string, args: object = {}) =>
      (await site.post('/api/control/command', { zone_id, command: verb, args }, ada)).body

    await until('the gate is known', async () => (await instance(30)).camera === 'Gate')
    t.match(await instance(30), { person: false, camera_motion: false })
    t.match((await instance(31)).error, new RegExp(`shows no camera ${till} to this token`))

    await boss('PATCH', `/api/cameras/${gate}`, { enabled: false })
    await until('its feed has told it', async () => (await instance(30)).state === 'off')
    const seen = async () => (await site.get('/api/data/attribute?name=seen', ada)).body[0].value
    await until('and it has set off the macro', async () => (await seen()) === 'off')

    t.match(await command(32, 'pulse', { seconds: 1 }), { success: false, error: /the recorder / })
    t.match(await command(30, 'zoom'), { success: false, error: /a recorder takes preset, on/ })

    const [admin, olga] = [await site.pageOf('ada'), await site.pageOf('olga')]
    const still = (who: typeof admin, id: number) => who('GET', `/ui/zone/still?zone=${id}`)
    await until('the played one is there', async () => (await instance(33)).camera === 'Yard')
    t.match(await still(olga, 33), { status: 200 })
    t.match(await still(admin, 33), { status: 200 })
    t.same(played.stills, ['yard'], 'it was asked once for both')
    t.match(await still(olga, 34), { status: 404, body: { error: 'no_still' } })
    const none = { status: 502, body: { message: /^There is no picture of this camera: it has sent none yet/ } }
    t.match(await still(admin, 34), none)
    t.match(await still(admin, 30), none, 'nor has the camera of the real one')
    t.match(await still(admin, 32), { status: 404 }, 'an output shows nothing')

    await boss('DELETE', `/tokens/${tokenId}`)
    const device = async () => (await site.get('/api/data/device?name=Recorder&_instance=true', ada)).body[0]
    await until('the token is gone', async () => /takes no token from here/.test((await device()).error ?? ''))
    t.match(await instance(30), { state: 'unknown' })
  },
)
