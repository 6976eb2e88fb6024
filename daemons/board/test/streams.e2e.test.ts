/** Streams announced and found, between boards and with third-party programs, on the loopback interface. */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '#kit/test/free-port.ts'
import { noCapture } from '#kit/test/no-capture.ts'
import { until } from '#kit/test/until.ts'
import { announcing, listening, NAME, STREAM } from './streams-rig.ts'
import { ravenna } from './wire/streams/wild-sdp.ts'

const without = (program: string, path: string) => (existsSync(path) ? false : `${program} is not installed`)
const noZeroconf = without('python3-zeroconf', '/usr/lib/python3/dist-packages/zeroconf')
const noTshark = without('tshark', '/usr/bin/tshark') || noCapture()
const noGstreamer = without('GStreamer', '/usr/bin/gst-launch-1.0')

t.test('B.streams an encoder is heard over SAP and as a RAVENNA session, followed and missed', async (t) => {
  const [encoder, decoder] = await Promise.all([announcing(t), listening(t)])
  await until('it is heard in every way', () => decoder.ours()[0]?.heard_by.length === 3)
  const [stream] = decoder.ours()
  t.match(stream, {
    name: NAME,
    info: 'Sent by a test',
    mcast: '239.69.83.7',
    port: 5004,
    source: '127.0.0.1',
    encoding: 'L24',
    channels: 2,
    refclk: { kind: 'ptp', grandmaster: '39-A7-94-FF-FE-07-CB-D0', domain: 0 },
    mclk_offset: 0,
    heard_by: ['mdns', 'rtsp', 'sap'],
    not_playable: null,
    sdp: encoder.sdp(),
  })
  t.equal(decoder.ours().length, 1, 'as one stream')
  t.equal(decoder.find('239.69.83.7', 5004).filter(({ name }) => name === NAME).length, 1)
  t.match(encoder.view(), { sap: true, rtsp: true, url: /^rtsp:\/\/127\.0\.0\.1:\d+\/by-id\/\d+$/, sdp: encoder.sdp() })
  t.ok(encoder.view().count >= 1 && encoder.view().described >= 1)
  encoder.now.stream = { ...STREAM, refClock: { kind: 'localmac', mac: '02-00-00-00-00-07' } }
  encoder.changed()
  await until('another clock is heard of', () => decoder.ours()[0]?.refclk?.kind === 'localmac', 3000)
  await encoder.stop()
  await until('the farewell is heard', () => decoder.ours().length === 0)
  t.match(decoder.view(), { sap: true })
})

t.test('RAVENNA 5.1 python-zeroconf finds the session', { skip: noZeroconf }, async (t) => {
  const script = join(import.meta.dirname, 'peer/ravenna-finder.py')
  const finder = spawn('/usr/bin/python3', [script, '127.0.0.1'])
  t.teardown(() => finder.kill('SIGKILL'))
  let output = ''
  for (const stream of [finder.stdout, finder.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  await until('it is ready', () => output.includes('ready'))
  const encoder = await announcing(t)
  const port = Number(encoder.view().url?.split(':')[2]?.split('/')[0])
  await until('the session is found', () => output.includes(`came ${NAME} board-7._rtsp._tcp.local.`))
  t.match(output, `['127.0.0.1', '::1'] board-7.local. ${port}`)
  await encoder.stop()
  await until('it takes leave', () => output.includes(`went ${NAME} board-7._rtsp._tcp.local.`))
})

t.test(
  'RAVENNA 5.2 a device that python-zeroconf names is asked for its description',
  { skip: noZeroconf },
  async (t) => {
    const script = join(import.meta.dirname, 'peer/ravenna-device.py')
    const device = spawn('/usr/bin/python3', [script, '127.0.0.1', `${NAME} Gerät`])
    t.teardown(() => device.kill('SIGKILL'))
    const sdp = ravenna.replace('ALC_Demo_2', `ALC ${process.pid}`)
    device.stdin.write(`${sdp.replaceAll('\n', '\\n')}\n`)
    const decoder = await listening(t)
    const list = () => decoder.list().filter(({ name }) => name === `ALC ${process.pid}`)
    await until('the device is heard', () => list().length === 1)
    t.match(list()[0], { heard_by: ['mdns', 'rtsp'], mcast: '239.1.6.31', source: '10.1.6.31', encoding: 'L16' })
    device.stdin.end()
    await until('its farewell is heard', () => list().length === 0)
  },
)

t.test('ffmpeg reads the SDP', { skip: without('ffmpeg', '/usr/bin/ffmpeg') }, async (t) => {
  const paths = [...STREAM.paths, { group: '239.69.84.7', port: 5006, ttl: 32, source: null }]
  for (const stream of [STREAM, { ...STREAM, encoding: 'L16' as const, channels: 8 }, { ...STREAM, paths }]) {
    const encoder = await announcing(t, stream, { ravenna: false })
    const file = join(t.testdir({ 'stream.sdp': encoder.sdp() ?? '' }), 'stream.sdp')
    const codec = stream.encoding === 'L16' ? 'pcm_s16be' : 'pcm_s24be'
    const words = `codec set to: ${codec}.*samplerate set to: 48000.*channels set to: ${stream.channels}`
    const options = ['-nostdin', '-v', 'debug', '-protocol_whitelist', 'file,rtp,udp', '-i', file, '-f', 'null', '-']
    const output = await launched(t, 'ffmpeg', options, new RegExp(words, 's'))
    t.match(output, new RegExp(words, 's'))
    t.notMatch(output, /Invalid|error/i)
    await encoder.stop()
  }
})

t.test('GStreamer asks for the SDP over RTSP, and accepts the group', { skip: noGstreamer }, async (t) => {
  const encoder = await announcing(t)
  const caps =
    /media=\(string\)audio.*clock-rate=\(int\)48000.*encoding-name=\(string\)L24.*ts-refclk.*39-A7-94-FF-FE-07-CB-D0:0/
  const source = ['rtspsrc', `location=${encoder.view().url}`, 'protocols=udp-mcast']
  t.match(await launched(t, 'gst-launch-1.0', ['-v', ...source, '!', 'fakesink'], caps), caps)
  t.ok(encoder.view().described >= 1)
})

t.test('a board whose streams are on loopback answers RTSP only there', async (t) => {
  const encoder = await announcing(t)
  const { hostname, port } = new URL(encoder.view().url ?? '')
  t.equal(hostname, '127.0.0.1')
  const connects = async (host: string) => {
    const socket = connect({ port: Number(port), host })
    t.teardown(() => socket.destroy())
    return await once(socket, 'connect').then(
      () => 'yes',
      ({ code }) => code,
    )
  }
  t.equal(await connects('127.0.0.1'), 'yes')
  // An ordinary address of this machine for a server that listens on all of them.
  t.equal(await connects('127.0.0.2'), 'ECONNREFUSED')
})

t.test('tshark finds nothing wrong with SAP, RTSP and SDP', { skip: noTshark }, async (t) => {
  const port = await freePort()
  const filter = `udp port 9875 or port ${port}`
  const fields = [
    'frame.protocols',
    'ip.ttl',
    'sap.flags.v',
    'sap.flags.t',
    'sdp.session_name',
    'rtsp.method',
    'rtsp.status',
  ]
  const faults = ['_ws.expert.message', '_ws.malformed']
  const shown = ['-Y', `sap or rtsp or udp.port == ${port}`, '-d', `tcp.port==${port},rtsp`, '-T', 'fields']
  const options = ['-l', '-i', 'lo', '-f', filter, ...shown]
  const tshark = spawn('tshark', [...options, ...[...fields, ...faults].flatMap((field) => ['-e', field])])
  // It ends its own child, which has the pipes too, when asked to end.
  t.teardown(() => {
    tshark.kill('SIGTERM')
    tshark.stdout.destroy()
    tshark.stderr.destroy()
  })
  let output = ''
  tshark.stdout.setEncoding('utf8').on('data', (text) => (output += text))
  // Its first output differs between versions: it is listening once it shows a packet sent to nobody.
  const probe = createSocket('udp4')
  t.teardown(() => probe.close())
  await until('tshark listens', () => {
    probe.send('are you there', port, '127.0.0.1')
    return output !== ''
  })
  const ours = () =>
    output
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([protocols, , , , name]) => protocols?.includes('rtsp') || name?.endsWith(` ${process.pid}`))
  const decoder = await listening(t)
  const encoder = await announcing(t, STREAM, { rtsp_port: port })
  await until('it is heard', () => decoder.ours()[0]?.heard_by.length === 3)
  await until('tshark has seen announcement and description', () => {
    const seen = ours()
    return (
      seen.some(([protocols]) => protocols?.includes('sap:sdp')) &&
      seen.some(([protocols]) => protocols?.endsWith('rtsp:sdp'))
    )
  })
  await encoder.stop()
  // A flag is printed as 1 by tshark 4.0, as True from 4.2 on.
  const isDeletion = ([, , version, deletes]: string[]) => version === '1' && /^(1|True)$/.test(deletes ?? '')
  await until('tshark has seen the deletion', () => ours().some(isDeletion))
  for (const [protocols, ttl, version, , , , status, ...wrong] of ours()) {
    t.same(wrong, ['', ''], `nothing is wrong with ${protocols}`)
    if (protocols?.includes('sap')) t.same([ttl, version], ['255', '1'])
    if (status) t.equal(status, '200')
  }
})

/** Runs a program until it has printed the text looked for, or ends. */
async function launched(t: Test, program: string, args: string[], sought: RegExp): Promise<string> {
  const child = spawn(program, args)
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  await until(`${program} has said it`, () => sought.test(output) || child.exitCode !== null, 20_000).catch(() => {})
  child.kill('SIGKILL')
  return output
}
