/** Tests of core/streams/announcing.ts. */
import fc from 'fast-check'
import t from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import { answerRtsp } from '../../../core/streams/announcing.ts'
import { cutRtsp, replyOf } from '../../../wire/streams/rtsp.ts'

const session = {
  names: ['Big hall', 'Big hall board-7'],
  ids: ['1', '3971234567'],
  sdp: 'v=0\r\n',
  group: '239.69.1.7',
  port: 5004,
  ttl: 32,
}

function ask(method: string, url: string, headers: Record<string, string> = {}, offered = true) {
  const all = new Map(Object.entries({ cseq: '7', ...headers }))
  const { text } = answerRtsp({ method, url, version: '1.0', headers: all }, offered ? session : undefined)
  const cut = cutRtsp(Buffer.from(text), { headBytes: 4096, bodyBytes: 4096 })
  t.equal(cut?.length, text.length, 'one whole message')
  return replyOf(cut?.message ?? { start: '', headers: new Map(), body: '' })
}

t.test('RFC 2326 10.1 OPTIONS lists the methods', async (t) => {
  const { headers, status } = ask('OPTIONS', '*')
  t.equal(status, 200)
  t.equal(headers.get('cseq'), '7')
  t.match(headers.get('public'), /DESCRIBE/)
})

t.test('RAVENNA 5.2 and RFC 2326 10.2 DESCRIBE gives the description by name, by number, or alone', async (t) => {
  for (const path of ['/by-name/Big%20hall', '/by-name/Big%20hall%20board-7', '/by-id/1', '/by-id/3971234567', '/']) {
    const reply = ask('DESCRIBE', `rtsp://10.0.0.7:8554${path}`, { accept: 'application/sdp' })
    t.match(reply, { status: 200, body: 'v=0\r\n' }, path)
    t.equal(reply.headers.get('content-type'), 'application/sdp')
    t.equal(reply.headers.get('content-base'), `rtsp://10.0.0.7:8554${path.replace(/\/?$/, '/')}`)
  }
  t.match(ask('DESCRIBE', 'rtsp://10.0.0.7/by-name/Big hall').headers.get('content-base'), /Big%20hall\/$/)
})

t.test('an unknown path is 404', async (t) => {
  for (const path of ['/by-name/Other', '/by-id/2', '/x', '/by-name/%'])
    t.equal(ask('DESCRIBE', `rtsp://10.0.0.7${path}`).status, 404, path)
  t.equal(ask('DESCRIBE', 'rtsp://10.0.0.7/', {}, false).status, 404)
})

t.test('RFC 2326 11.3 a description in another type than SDP is 406', async (t) => {
  t.equal(ask('DESCRIBE', 'rtsp://h/', { accept: 'text/html' }).status, 406)
  t.equal(ask('DESCRIBE', 'rtsp://h/', { accept: 'text/html, */*' }).status, 200)
})

t.test('RFC 2326 10.4 SETUP gives the group to clients that accept multicast, and refuses others', async (t) => {
  const reply = ask('SETUP', 'rtsp://h/by-id/1', {
    transport: 'RTP/AVP;unicast;client_port=5000-5001,RTP/AVP;multicast',
  })
  t.equal(reply.status, 200)
  t.equal(reply.headers.get('transport'), 'RTP/AVP;multicast;destination=239.69.1.7;port=5004-5005;ttl=32')
  const id = reply.headers.get('session')?.split(';')[0] ?? ''
  t.equal(ask('PLAY', 'rtsp://h/by-id/1/', { session: id }).status, 200)
  t.equal(ask('GET_PARAMETER', 'rtsp://h/by-id/1', { session: id }).status, 200)
  t.equal(ask('GET_PARAMETER', 'rtsp://h/by-id/1').status, 200)
  t.equal(ask('TEARDOWN', 'rtsp://h/by-id/1', { session: id }).status, 200)
  for (const transport of ['RTP/AVP;unicast;client_port=5000-5001', 'RTP/AVP/TCP;interleaved=0-1', ''])
    t.equal(ask('SETUP', 'rtsp://h/by-id/1', { transport }).status, 461, transport)
  t.equal(ask('PLAY', 'rtsp://h/by-id/1').status, 454)
  t.equal(ask('PLAY', 'rtsp://h/by-id/1', { session: '1' }).status, 454)
})

t.test('RFC 2326 11 unsupported methods are 405, unknown ones 501, an unknown Require 551', async (t) => {
  t.equal(ask('RECORD', 'rtsp://h/').status, 405)
  t.match(ask('RECORD', 'rtsp://h/').headers.get('allow'), /DESCRIBE/)
  t.equal(ask('GET', '/').status, 501)
  t.equal(ask('toString', '/').status, 501)
  t.match(
    [...ask('OPTIONS', '*', { require: 'x' }).headers],
    [
      ['cseq', '7'],
      ['unsupported', 'x'],
    ],
  )
})

t.test('a request without its number is 400, of another version 505', async (t) => {
  t.equal(ask('OPTIONS', '*', { cseq: 'x\r\ny' }).status, 400)
  t.match(
    answerRtsp({ method: 'OPTIONS', url: '*', version: '2.0', headers: new Map() }, session).text,
    /^RTSP\/1.0 505 /,
  )
})

t.test('no request can inject a line into an answer', async () => {
  const header = fc.constantFrom('cseq', 'accept', 'require', 'transport', 'session')
  const line = anyText({ maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, ''))
  fc.assert(
    fc.property(
      fc.constantFrom('DESCRIBE', 'SETUP', 'OPTIONS', 'PLAY'),
      line,
      fc.dictionary(header, line),
      (...asked) => {
        ask(...asked)
        return true
      },
    ),
    { numRuns: 50 },
  )
})
