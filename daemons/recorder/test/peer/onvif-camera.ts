/**
 * A camera that speaks WS-Discovery and ONVIF, and misbehaves as it is told. Its streams are somebody else's: it passes
 * connections on to a real server of RTSP.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { turnOf } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { ntpQuestion, readNtpAnswer } from '../../wire/ntp.ts'
import { createPeerEvents, type PeerEvents } from './onvif-events.ts'
import { envelope, faultText } from './onvif-text.ts'
import { faulty, type PtzSimulator, ptzConfiguration } from './ptz-simulator.ts'

/** One of its streams, as it is set. */
export interface PeerProfile {
  token: string
  encoding: string
  width: number
  height: number
  fps: number
}

/** What it is, and how it misbehaves. Changed while it runs, it misbehaves from then on. */
export interface PeerTraits {
  /** An address of the loopback of its own. */
  host: string
  user: { username: string; password: string }
  /** How it wants to be signed in to: either way, WS-Security alone, HTTP Digest alone; or it refuses everybody. */
  signIn: 'any' | 'wsse' | 'digest' | 'nobody'
  /** How far its clock is ahead. */
  aheadMs: number
  profiles: PeerProfile[]
  /** Its services of media. */
  media: readonly (1 | 2)[]
  /** Whether it knows GetServices, or only the older GetCapabilities. */
  knowsServices: boolean
  /** The host in the addresses that it says; undefined: its own. */
  saysHost: string | undefined
  /** Where it sends everybody on to. */
  redirect: ((address: string) => string) | undefined
  /** What it answers instead to an operation: `silence`, `endless`, `interim`, `broken length`, `cut off`, or a text. */
  instead: Readonly<Record<string, string>>
  name: string
  /** Whether it answers probes. A test of what is found has its turn by `cameraTurn`. */
  isFound: boolean
  /** Called instead of one answer to a probe: sends whatever it wants. */
  answerProbe: ((send: (text: string) => void, answer: string, messageId: string) => void) | undefined
  /** Its zone as it says it, and how far its local time is from UTC; undefined: it says no local time. */
  timeZone: string
  localMinutes: number | undefined
  dateTimeType: string
  /** Whether it does nothing of what SetSystemDateAndTime wants, and says that it did. */
  isClockStuck: boolean
  /** Its servers of time, and whether DHCP names them. */
  ntp: { isFromDhcp: boolean; servers: string[] }
  /** Whether it does nothing of what SetNTP wants, and says that it did. */
  isNtpStuck: boolean
  /** Port on which it asks its first server once it is to take its time from there; undefined: it never does. */
  ntpPort: number | undefined
  /** Port of a server of RTSP on 127.0.0.1; undefined: nobody is there. */
  rtspPort: number | undefined
  /** How it turns; undefined: not at all. */
  ptz: PtzSimulator | undefined
  /** Its relays, whether it refuses to switch them. */
  relays: PeerRelay[]
  refusesRelays: boolean
  /** Whether its service of inputs and outputs alone has them; the device service then answers with nothing, as if it were done. */
  areRelaysApart: boolean
  /** Its own HTTP interface, as Dahua has it: what is on, by its word; undefined: it has none. */
  dahua: { realm: string; on: Record<string, boolean>; answers?: string } | undefined
}

export interface PeerRelay {
  token: string
  isOn: boolean
}

export interface OnvifPeer {
  traits: PeerTraits
  /** Address of its device service. */
  service: string
  /** Operations that it was asked, in order, and those it refused with their login. */
  asked: string[]
  refused: string[]
  /** What it knows of its own events. */
  events: PeerEvents
}

const usual: Omit<PeerTraits, 'host'> = {
  user: { username: 'onvif', password: 'pass&word' },
  isFound: true,
  ...{ signIn: 'any', aheadMs: 0, media: [1, 2], knowsServices: true, saysHost: undefined, redirect: undefined },
  profiles: [
    { token: 'sub', encoding: 'H264', width: 320, height: 240, fps: 15 },
    { token: 'main', encoding: 'H264', width: 1920, height: 1080, fps: 25 },
  ],
  ...{ instead: {}, name: 'Yard camera', answerProbe: undefined, rtspPort: undefined },
  ...{ timeZone: 'UTC0', localMinutes: 0, dateTimeType: 'Manual', isClockStuck: false },
  ...{ ntp: { isFromDhcp: true, servers: [] }, isNtpStuck: false, ntpPort: undefined },
  ...{ relays: [], refusesRelays: false, areRelaysApart: false, ptz: undefined, dahua: undefined },
}

const GROUP = '239.255.255.250'

/** Cameras on the loopback answer the probes of every test: one that counts them waits until there are no others. */
export const cameraTurn = (t: Owner): Promise<void> => turnOf(t, 'cameras')

/** Starts one; everything ends with the test. */
export async function startOnvifPeer(t: Owner, wish: Partial<PeerTraits> & { host: string }): Promise<OnvifPeer> {
  const traits: PeerTraits = { ...usual, ...wish }
  const peer: OnvifPeer = { traits, service: '', asked: [], refused: [], events: createPeerEvents() }
  const relays = new Map<string, number>()
  for (const { token } of traits.profiles) relays.set(token, await startRelay(t, traits))
  const digestNonce = randomBytes(8).toString('hex')
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing).catch(() => outgoing.destroy()))
  const port = await listening(t, server, traits.host)
  peer.service = `http://${traits.host}:${port}/onvif/device_service`
  if (traits.isFound) await listenForProbes(t, peer)

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (incoming.url?.startsWith('/cgi-bin/')) return answerWeb(peer, incoming, outgoing, digestNonce)
    const text = await bodyOf(incoming)
    const name = /<s:Body><(\w+)/.exec(text)?.[1] ?? ''
    peer.asked.push(name)
    const own = `http://${traits.saysHost ?? traits.host}:${port}`
    const { pathname } = new URL(incoming.url ?? '/', own)
    const next = traits.redirect?.(`http://${traits.host}:${port}${pathname}`)
    if (next !== undefined && pathname !== '/moved') return void outgoing.writeHead(307, { location: next }).end()
    const instead = traits.instead[name]
    if (instead !== undefined) return misbehave(outgoing, instead)
    const challenge = { 'www-authenticate': `Digest realm="camera", qop="auth", nonce="${digestNonce}", algorithm=MD5` }
    if (name !== 'GetSystemDateAndTime' && !isSigned(text, incoming)) {
      peer.refused.push(name)
      if (traits.signIn === 'digest' || traits.signIn === 'any') return void outgoing.writeHead(401, challenge).end()
      return void outgoing.writeHead(400).end(faultText('ter:NotAuthorized', 'Sender not authorized'))
    }
    const event = peer.events.answer(name, text, `${own}/onvif/events`)
    const isIdle = traits.areRelaysApart && name.includes('RelayOutput') && pathname !== '/onvif/io'
    const idle = isIdle ? envelope(`<x:${name}Response xmlns:x="urn:x"/>`) : undefined
    const body = await (event ?? idle ?? onvifAnswer(name, { text, own, traits, relays }))
    outgoing.writeHead(body.includes('Fault') ? 500 : 200, { 'content-type': 'application/soap+xml' }).end(body)
  }

  function isSigned(text: string, { headers }: IncomingMessage): boolean {
    const { aheadMs, signIn, user } = traits
    if (signIn === 'nobody') return false
    if (signIn !== 'wsse' && isDigest(headers.authorization ?? '', digestNonce, user)) return true
    return signIn !== 'digest' && isWsse(text, user, Date.now() + aheadMs)
  }
  return peer
}

async function listening(t: Owner, server: Server, host: string): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Passes connections on to the server of RTSP. */
async function startRelay(t: Owner, traits: PeerTraits): Promise<number> {
  const server = createTcpServer((near) => {
    if (traits.rtspPort === undefined) return near.destroy()
    const far = connect(traits.rtspPort, '127.0.0.1')
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  return await listening(t, server, traits.host)
}

async function listenForProbes(t: Owner, { service, traits }: OnvifPeer): Promise<void> {
  const ear = await opened(t, { address: GROUP, port: 3702 })
  // Its own voice, so that answers come from its own address.
  const voice = await opened(t, { address: traits.host, port: 0 })
  ear.addMembership(GROUP, '127.0.0.1')
  ear.on('message', (bytes, { address, port }) => {
    const messageId = /MessageID>([^<]*)</.exec(String(bytes))?.[1] ?? ''
    const said = service.replace(traits.host, traits.saysHost ?? traits.host)
    const text = probeMatchText(messageId, { endpoint: `urn:uuid:${traits.host}`, address: said, name: traits.name })
    const send = (text: string) => voice.send(text, port, address)
    if (traits.answerProbe) traits.answerProbe(send, text, messageId)
    else send(text)
  })
}

async function opened(t: Owner, place: { address: string; port: number }): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  socket.bind(place)
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket
}

/** An answer to a probe. */
export function probeMatchText(messageId: string, about: { endpoint: string; address: string; name: string }): string {
  const { address, endpoint, name } = about
  return `<?xml version="1.0" encoding="utf-8"?>
<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery">
<SOAP-ENV:Header><wsa:RelatesTo>${messageId}</wsa:RelatesTo></SOAP-ENV:Header><SOAP-ENV:Body><d:ProbeMatches><d:ProbeMatch>
<wsa:EndpointReference><wsa:Address>${endpoint}</wsa:Address></wsa:EndpointReference>
<d:Types>dn:NetworkVideoTransmitter tds:Device</d:Types>
<d:Scopes>onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/name/${encodeURIComponent(name)} onvif://www.onvif.org/hardware/PC-1</d:Scopes>
<d:XAddrs>http://[fe80::1]/onvif/device_service ${address}</d:XAddrs><d:MetadataVersion>10</d:MetadataVersion>
</d:ProbeMatch></d:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>`
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming) text += String(chunk)
  return text
}

function misbehave(outgoing: ServerResponse, how: string): void {
  if (how === 'silence') return
  if (how === 'broken length') return void outgoing.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n')
  if (how === 'cut off') {
    outgoing.writeHead(200, { 'content-length': 500 }).write('<a>', () => outgoing.destroy())
    return
  }
  if (how === 'interim') {
    for (let sent = 0; sent < 64; sent++) outgoing.writeProcessing()
    return
  }
  if (how !== 'endless') return void outgoing.end(how)
  const more = () => {
    while (!outgoing.destroyed && outgoing.write('<a>'.repeat(10_000)));
  }
  outgoing.on('drain', more)
  more()
}

/** Whether a request is signed by WS-Security with a time that is right by its own clock. */
function isWsse(text: string, user: PeerTraits['user'], nowMs: number): boolean {
  const at = (name: string) => new RegExp(`<${name}(?: [^>]*)?>([^<]*)<`).exec(text)?.[1] ?? ''
  const created = at('Created')
  if (!(Math.abs(Date.parse(created) - nowMs) < 60_000)) return false
  const hash = createHash('sha1')
    .update(Buffer.from(at('Nonce'), 'base64'))
    .update(created + user.password)
  return at('Username') === user.username && at('Password') === hash.digest('base64')
}

/** What it answers on an HTTP interface of its own. */
function answerWeb(
  { asked, refused, traits }: OnvifPeer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  nonce: string,
) {
  const { dahua, user } = traits
  const url = incoming.url ?? ''
  asked.push(`GET ${url}`)
  const realm = dahua?.realm ?? 'IP camera'
  if (!isDigest(incoming.headers.authorization ?? '', nonce, user, { method: 'GET', realm })) {
    refused.push(`GET ${url}${incoming.headers.authorization ? ' signed' : ''}`)
    const challenge = `Digest realm="${realm}", qop="auth", nonce="${nonce}", opaque="5ccc069c"`
    return void outgoing.writeHead(401, { 'www-authenticate': challenge }).end()
  }
  const [, type, io] =
    /\?action=control&channel=1&info\[0\]\.Type=(\d)&info\[0\]\.IO=(\d)&info\[0\]\.TriggerMode=2$/.exec(url) ?? []
  const words = Object.keys(dahua?.on ?? {})
  if (!dahua || !url.startsWith('/cgi-bin/coaxialControlIO.cgi?')) return void outgoing.writeHead(404).end()
  if (url.endsWith('?action=getStatus&channel=1'))
    return void outgoing.end(words.map((word) => `status.status.${word}=${dahua.on[word] ? 'On' : 'Off'}\r\n`).join(''))
  const word = type === '1' ? 'WhiteLight' : 'Speaker'
  if (dahua.answers !== undefined || !words.includes(word))
    return void outgoing.end(dahua.answers ?? 'Error\r\nBad Request!\r\n')
  dahua.on[word] = io === '1'
  outgoing.end('OK\r\n')
}

function isDigest(
  header: string,
  nonce: string,
  { password, username }: PeerTraits['user'],
  { method, realm }: { method: string; realm: string } = { method: 'POST', realm: 'camera' },
): boolean {
  const said = (name: string) => new RegExp(`${name}="?([^",]*)"?`).exec(header)?.[1] ?? ''
  const md5 = (text: string) => createHash('md5').update(text).digest('hex')
  const secret = md5(`${username}:${realm}:${password}`)
  const middle = `${nonce}:${said('nc')}:${said('cnonce')}:auth`
  return header !== '' && said('response') === md5(`${secret}:${middle}:${md5(`${method}:${said('uri')}`)}`)
}

interface Asking {
  text: string
  own: string
  traits: PeerTraits
  relays: ReadonlyMap<string, number>
}

/** What it answers to an operation. */
export function onvifAnswer(name: string, asking: Asking): string {
  const { text, traits } = asking
  const turned = traits.ptz?.answer(name, text)
  if (turned === faulty) return faultText('ter:InvalidArgVal', 'That is not to be')
  const of = turned === undefined ? answers[name] : () => turned
  if (name === 'SetRelayOutputState' && traits.refusesRelays)
    return faultText('ter:RelayToken', 'The relay is bound to a rule of the camera')
  if (!of || (name === 'GetServices' && !traits.knowsServices))
    return faultText('ter:ActionNotSupported', 'Optional Action Not Implemented')
  return envelope(`<x:${name}Response xmlns:x="urn:x">${of(asking)}</x:${name}Response>`)
}

const answers: Readonly<Record<string, (asking: Asking) => string>> = {
  GetSystemDateAndTime({ traits }) {
    const { aheadMs, dateTimeType, localMinutes, timeZone } = traits
    const nowMs = Date.now() + aheadMs
    const local = localMinutes === undefined ? '' : instantText('LocalDateTime', nowMs + localMinutes * 60_000)
    const zone = `<t:TimeZone><t:TZ>${timeZone.replace('<', '&lt;')}</t:TZ></t:TimeZone>`
    const kind = `<t:DateTimeType>${dateTimeType}</t:DateTimeType>`
    return `<x:SystemDateAndTime>${kind}${zone}${instantText('UTCDateTime', nowMs)}${local}</x:SystemDateAndTime>`
  },
  SetSystemDateAndTime({ text, traits }) {
    if (traits.isClockStuck) return ''
    const at = (name: string) => new RegExp(`<${name}(?: [^>]*)?>([^<]*)<`).exec(text)?.[1]
    const of = (name: string) => Number(at(name) ?? 0)
    traits.dateTimeType = at('DateTimeType') ?? ''
    traits.timeZone = (at('TZ') ?? '').replace('&lt;', '<').replace('&gt;', '>')
    const setMs = Date.UTC(of('Year'), of('Month') - 1, of('Day'), of('Hour'), of('Minute'), of('Second'))
    if (text.includes('UTCDateTime')) traits.aheadMs = setMs - Date.now()
    if (traits.dateTimeType === 'NTP') fetchTime(traits)
    return ''
  },
  GetNTP({ traits: { ntp } }) {
    const hosts = ntp.servers.map((server) => {
      const kind = server.includes(':') ? 'IPv6' : 'IPv4'
      return `<t:NTPManual><t:Type>${kind}</t:Type><t:${kind}Address>${server}</t:${kind}Address></t:NTPManual>`
    })
    return `<x:NTPInformation><t:FromDHCP>${ntp.isFromDhcp}</t:FromDHCP>${hosts.join('')}</x:NTPInformation>`
  },
  SetNTP({ text, traits }) {
    if (traits.isNtpStuck) return ''
    const servers = [...text.matchAll(/<IPv[46]Address(?: [^>]*)?>([^<]*)</g)].map(([, server = '']) => server)
    traits.ntp = { isFromDhcp: text.includes('<FromDHCP>true'), servers }
    return ''
  },
  GetDeviceInformation: () =>
    '<x:Manufacturer>Peer &amp; Sons</x:Manufacturer><x:Model>PC-1</x:Model><x:FirmwareVersion>1</x:FirmwareVersion>',
  GetServices: ({ own, traits: { media, ptz } }) =>
    [
      ...media.map((version) => [`ver${version}0/media`, `media${version}`] as const),
      ['ver10/events', 'events'],
      ['ver10/deviceIO', 'io'],
      ...(ptz ? [['ver20/ptz', 'ptz']] : []),
    ]
      .map(([space, path]) => {
        const name = `<x:Namespace>http://www.onvif.org/${space}/wsdl</x:Namespace>`
        return `<x:Service>${name}<x:XAddr>${own}/onvif/${path}</x:XAddr></x:Service>`
      })
      .join(''),
  GetCapabilities({ own, text, traits: { ptz } }) {
    const turns = ptz ? `<t:PTZ><t:XAddr>${own}/onvif/ptz</t:XAddr></t:PTZ>` : ''
    const media = `<t:Media><t:XAddr>${own}/onvif/media1</t:XAddr></t:Media>`
    const seen = `${media}<t:Events><t:XAddr>${own}/onvif/events</t:XAddr></t:Events>`
    return `<x:Capabilities>${text.includes('PTZ') ? turns : seen}</x:Capabilities>`
  },
  GetRelayOutputs: ({ traits }) =>
    traits.relays
      .map(
        ({ token }) =>
          `<x:RelayOutputs token="${token}"><t:Properties><t:Mode>Bistable</t:Mode></t:Properties></x:RelayOutputs>`,
      )
      .join(''),
  SetRelayOutputState({ text, traits }) {
    const at = (name: string) => new RegExp(`<${name}(?: [^>]*)?>([^<]*)<`).exec(text)?.[1]
    const relay = traits.relays.find(({ token }) => token === at('RelayOutputToken'))
    if (relay && !traits.refusesRelays) relay.isOn = at('LogicalState') === 'active'
    return ''
  },
  GetProfiles({ text, traits: { profiles, ptz } }) {
    const isSecond = text.includes('ver20/media')
    return profiles
      .map(({ encoding, fps, height, token, width }) => {
        const size = `<t:Resolution><t:Width>${width}</t:Width><t:Height>${height}</t:Height></t:Resolution>`
        const rate = `<t:RateControl><t:FrameRateLimit>${fps}</t:FrameRateLimit></t:RateControl>`
        const encoder = `<t:Encoding>${encoding}</t:Encoding>${size}${rate}`
        const turned = ptz ? ptzConfiguration : ''
        const inner = isSecond
          ? `<x:Configurations><x:VideoEncoder>${encoder}</x:VideoEncoder>${turned.replaceAll('t:PTZConfiguration', 'x:PTZ')}</x:Configurations>`
          : `<t:VideoEncoderConfiguration>${encoder}</t:VideoEncoderConfiguration>${turned}`
        return `<x:Profiles token="${token}" fixed="true"><t:Name>${token}</t:Name>${inner}</x:Profiles>`
      })
      .join('')
  },
  GetStreamUri({ relays, text, traits }) {
    const token = /<ProfileToken>([^<]*)</.exec(text)?.[1] ?? ''
    const uri = `<t:Uri>rtsp://${traits.saysHost ?? traits.host}:${relays.get(token)}/cam</t:Uri>`
    return text.includes('ver20/media') ? uri : `<x:MediaUri>${uri}</x:MediaUri>`
  },
}

/** It asks its server by itself, and shows the time that comes back. */
function fetchTime(traits: PeerTraits): void {
  const [server] = traits.ntp.servers
  if (traits.ntpPort === undefined || server === undefined) return
  const socket = createSocket('udp4').unref()
  const nonce = randomBytes(8)
  socket.on('message', (bytes) => {
    const answer = readNtpAnswer(bytes, nonce)
    if (answer) traits.aheadMs = answer.sentMs - Date.now()
    socket.close()
  })
  socket.send(ntpQuestion(nonce), traits.ntpPort, server)
}

function instantText(name: string, atMs: number): string {
  const at = new Date(atMs)
  const time = `<t:Hour>${at.getUTCHours()}</t:Hour><t:Minute>${at.getUTCMinutes()}</t:Minute><t:Second>${at.getUTCSeconds()}</t:Second>`
  const date = `<t:Year>${at.getUTCFullYear()}</t:Year><t:Month>${at.getUTCMonth() + 1}</t:Month><t:Day>${at.getUTCDate()}</t:Day>`
  return `<t:${name}><t:Time>${time}</t:Time><t:Date>${date}</t:Date></t:${name}>`
}
