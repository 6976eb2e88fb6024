/** Speaking through a camera of GStreamer's RTSP server, which writes down the samples that it hears. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { decodeG711, encodeG711 } from '../wire/g711.ts'
import { writeWav } from '../wire/wav.ts'
import { LONG_MS, makeFootage, startCamera, startSpeakingCamera } from './camera.ts'
import { clientOf, headersOf } from './client.ts'

const login = { username: 'cam', password: 'pass&word' }
const work = stateFolderOf(t)
const film = await makeFootage(work, 5)
const heard = `${work}/heard.s16`
const speaking = await startSpeakingCamera(t, film, login, heard)
const mute = await startCamera(t, film, login)
const folder = `${work}/recorder`
const sets = ['storage.free_bytes=0', 'talk.messages=2']
const recorder = await startDaemon(t, 'recorder', { stateFolder: folder, sets })
const boss = clientOf(recorder.url)
await boss.setUp()
const add = async (name: string, url: string): Promise<string> =>
  (await boss.call('POST', '/api/discovery/rtsp', { name, url, ...login })).body.id
const door = await add('Door', speaking.url)
const yard = await add('Yard', mute.url)
const samples = Int16Array.from({ length: 8000 }, (_, n) =>
  Math.round(12_000 * Math.sin((2 * Math.PI * 440 * n) / 8000)),
)

function upload(name: string, wav: Uint8Array) {
  const headers = { ...headersOf(boss.credentials), 'content-type': 'audio/wav' }
  return fetch(`${recorder.url}/api/talk/messages?name=${name}`, { method: 'POST', headers, body: Buffer.from(wav) })
}

let message = ''

t.test(
  'A.talk a WAV file becomes a message that any account lists and hears, and what is none is refused',
  async (t) => {
    const added = await upload('Closed', writeWav(samples))
    t.equal(added.status, 201, await added.clone().text())
    message = ((await added.json()) as { id: string }).id
    t.match((await boss.call('GET', '/api/talk/messages')).body, [
      { id: message, name: 'Closed', source: 'file', seconds: 1 },
    ])
    const sound = await fetch(`${recorder.url}/api/talk/messages/${message}/sound.wav`, {
      headers: headersOf(boss.credentials),
    })
    t.equal(sound.headers.get('content-type'), 'audio/wav')
    t.same(
      Buffer.from(await sound.arrayBuffer()),
      Buffer.from(writeWav(samples)),
      'at 8000 samples a second nothing is lost',
    )
    const refused = await upload('Song', new TextEncoder().encode('ID3 this is a song'))
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: 'bad_sound', message: /Save the sound as WAV/ })
  },
)

t.test(
  'a text is read aloud by espeak-ng',
  { skip: !existsSync('/usr/bin/espeak-ng') && 'espeak-ng is missing' },
  async (t) => {
    const body = { name: 'Gate', text: 'The gate is closed; rm -rf $(nothing) --help', voice: 'en' }
    const { status, body: added } = await boss.call('POST', '/api/talk/speech', body)
    t.equal(status, 201)
    t.match(added, { source: 'speech', text: body.text })
    t.ok(added.seconds > 1 && added.seconds < 30, `${added.seconds} s`)
    t.match((await upload('Third', writeWav(samples))).status, 409, 'talk.messages')
    t.equal((await boss.call('POST', '/api/talk/speech', { ...body, voice: '--help' })).status, 400)
    t.equal((await boss.call('DELETE', `/api/talk/messages/${added.id}`)).status, 204)
  },
)

t.test('A.cameras talkback says whether a camera can be spoken through, once it was asked', async (t) => {
  const before = (await boss.call('GET', '/api/cameras')).body
  t.match(before[0].talkback, { supported: false, probedAt: null, reason: /Nobody has asked/ })
  t.match((await boss.call('POST', `/api/cameras/${door}/talk`, { messageId: 'none' })).status, 404)
  const [asked, none] = await Promise.all([door, yard].map((id) => boss.call('POST', `/api/cameras/${id}/talk/probe`)))
  t.match(asked?.body.talkback, { supported: true, codec: 'PCMU', probedAt: Number, reason: null })
  t.match(none?.body.talkback, { supported: false, codec: null, probedAt: Number, reason: /no loudspeaker/ })
  t.match(await boss.call('POST', `/api/cameras/${yard}/talk`, { messageId: message }), {
    status: 409,
    body: { error: 'no_talkback' },
  })
})

t.test('who may: an operator with the permission talk, of cameras that they see', async (t) => {
  const path = `/api/cameras/${door}/talk`
  const make = async (username: string, more: object) => {
    const who = { username, password: 'seven long words' }
    await boss.call('POST', '/api/accounts', { ...who, ...more })
    const client = clientOf(recorder.url)
    await client.signIn(who)
    return client
  }
  const ask = async (username: string, more: object) =>
    await (await make(username, more)).call('POST', path, { messageId: message })
  t.match(await ask('viewer', { role: 'viewer', cameras: 'all', permissions: ['talk'] }), { status: 403 })
  t.match(await ask('guard', { role: 'operator', cameras: 'all', permissions: [] }), {
    status: 403,
    body: { error: 'permission_needed' },
  })
  t.match(await ask('other', { role: 'operator', cameras: [yard], permissions: ['talk'] }), {
    status: 404,
    body: { error: 'unknown_camera' },
  })
  t.match(await clientOf(recorder.url).call('GET', '/api/talk/messages'), { status: 401 })
  const porter = await make('porter', { role: 'operator', cameras: [door], permissions: ['talk'] })
  t.equal((await porter.call('POST', `/api/talk/speech`, { name: 'x', text: 'x' })).status, 403)
  t.equal((await porter.call('GET', '/api/talk/messages')).status, 200)
  t.notOk(existsSync(heard) && statSync(heard).size > 0, 'nobody was heard yet')
})

t.test('a camera hears each sample of a message, once and in order, while it is recorded', async (t) => {
  t.match(await boss.call('POST', `/api/cameras/${door}/talk`, { messageId: message, repeat: 2 }), {
    status: 202,
    body: { seconds: 2 },
  })
  t.match(await boss.call('POST', `/api/cameras/${door}/talk`, { messageId: message }), {
    status: 409,
    body: { error: 'talk_busy' },
  })
  await until('the message was heard', () => existsSync(heard) && statSync(heard).size >= 4 * samples.length, LONG_MS)
  const bytes = readFileSync(heard)
  const got = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1)
  const once = [...decodeG711(encodeG711(samples, 'PCMU'), 'PCMU')]
  t.same([...got], [...once, ...once])
  const state = async () => (await boss.call('GET', '/api/cameras')).body[0].health.state
  await until('it is recorded', async () => (await state()) === 'recording', LONG_MS)
})

t.test('it is stopped at once, and what was said stands in the journal', async (t) => {
  const say = () => boss.call('POST', `/api/cameras/${door}/talk`, { messageId: message, repeat: 3 })
  await until('it speaks', async () => (await say()).status === 202, LONG_MS)
  t.match(await boss.call('DELETE', `/api/cameras/${door}/talk`), { status: 200, body: { spoke: true } })
  await until(
    'it is silent',
    async () => (await boss.call('DELETE', `/api/cameras/${door}/talk`)).body.spoke === false,
    LONG_MS,
  )
  const { body } = await boss.call('GET', '/api/journal')
  t.match(JSON.stringify(body), /camera speaks/)
  t.match(JSON.stringify(body), /"message":"Closed"/)
})
