/** Tests of wire/streams/rtsp.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { anyText } from '#kit/test/any-text.ts'
import { cutRtsp, replyOf, rtspRequest, writeReply, writeRequest } from '../../../wire/streams/rtsp.ts'

const bounds = { headBytes: 4096, bodyBytes: 8192 }
const bytesOf = (text: string) => Buffer.from(text)
const cut = (text: string) => cutRtsp(bytesOf(text), bounds)

t.test('RFC 2326 6 a request is cut from the stream, and the bytes after it stay', async (t) => {
  const text = writeRequest('DESCRIBE', 'rtsp://10.0.0.7:8554/by-name/Hall', { CSeq: '1', Accept: 'application/sdp' })
  t.equal(text, 'DESCRIBE rtsp://10.0.0.7:8554/by-name/Hall RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n')
  const cutOff = cut(`${text}OPTIONS`)
  t.equal(cutOff?.length, text.length)
  const request = rtspRequest(cutOff?.message ?? { start: '', headers: new Map(), body: '' })
  t.match(request, { method: 'DESCRIBE', url: 'rtsp://10.0.0.7:8554/by-name/Hall' })
  t.equal(request.headers.get('cseq'), '1')
})

t.test('RFC 2326 7 an answer has its status, headers and a body of its length in bytes', async (t) => {
  const text = writeReply(200, { CSeq: '1', 'Content-Type': 'application/sdp' }, 'v=0\r\ns=é\r\n')
  t.match(text, /Content-Length: 11\r\n/)
  const reply = replyOf(cut(text)?.message ?? { start: '', headers: new Map(), body: '' })
  t.match(reply, { status: 200, reason: 'OK', body: 'v=0\r\ns=é\r\n' })
  t.match(writeReply(404, {}), /^RTSP\/1\.0 404 Not Found\r\n\r\n$/)
})

t.test('RFC 2326 4.1 empty lines before a request are skipped, LF alone ends lines too', async (t) => {
  t.match(cut('\r\n\r\nOPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n'), {
    message: { start: 'OPTIONS * RTSP/1.0' },
    length: 35,
  })
  t.equal(cut('OPTIONS * RTSP/1.0\nCSeq: 2\n\n')?.message.headers.get('cseq'), '2')
})

t.test(
  'RFC 2326 4.2 names of headers are case-insensitive; a line that begins with a space continues a header',
  async (t) => {
    const headers = cut('OPTIONS * RTSP/1.0\r\ncseq : 2\r\nAccept: a,\r\n b\r\nACCEPT: c\r\n\r\n')?.message.headers
    t.same(
      [...(headers ?? [])],
      [
        ['cseq', '2'],
        ['accept', 'a, b'],
      ],
    )
  },
)

t.test('a request whose name has spaces is understood', async (t) => {
  t.match(rtspRequest({ start: 'DESCRIBE /by-name/Big hall RTSP/1.0', headers: new Map(), body: '' }), {
    url: '/by-name/Big hall',
  })
})

t.test('an incomplete message is waited for', async (t) => {
  const text = writeReply(200, { CSeq: '1' }, 'v=0')
  for (let length = 0; length < text.length; length++) t.equal(cut(text.slice(0, length)), undefined)
  t.ok(cut(text))
})

t.test('a message that is too long or invalid is refused', async (t) => {
  const rows: [string, string][] = [
    ['x'.repeat(5000), 'rtsp_too_long'],
    [`OPTIONS * RTSP/1.0\r\nx: ${'y'.repeat(5000)}\r\n\r\n`, 'rtsp_too_long'],
    [`OPTIONS * RTSP/1.0\r\n${'x: y\r\n'.repeat(65)}\r\n`, 'rtsp_too_long'],
    ['OPTIONS * RTSP/1.0\r\nContent-Length: 9000\r\n\r\n', 'rtsp_too_long'],
    ['OPTIONS * RTSP/1.0\r\nContent-Length: -1\r\n\r\n', 'rtsp_malformed'],
    ['OPTIONS * RTSP/1.0\r\nno name\r\n\r\n', 'rtsp_malformed'],
    ['OPTIONS * RTSP/1.0\r\n: x\r\n\r\n', 'rtsp_malformed'],
  ]
  for (const [text, code] of rows) t.throws(() => cut(text), { code }, text.slice(0, 40))
  for (const start of ['', 'OPTIONS', 'OPTIONS *', 'OPTIONS * HTTP/1.1', 'OPT IONS RTSP/1.0 x', 'RTSP/1.0 200 OK'])
    t.throws(() => rtspRequest({ start, headers: new Map(), body: '' }), { code: 'rtsp_malformed' }, start)
  for (const start of ['', 'RTSP/1.0 OK', 'RTSP/1.0 2000 OK', 'HTTP/1.1 200 OK', 'RTSP/1.0 099 x'])
    t.throws(() => replyOf({ start, headers: new Map(), body: '' }), { code: 'rtsp_malformed' }, start)
})

t.test('whatever arrives is cut, waited for, or refused', async () => {
  const piece = fc.oneof(
    anyText({ maxLength: 20 }),
    fc.constantFrom('\r\n', '\n', 'OPTIONS * RTSP/1.0', 'Content-Length: 5', ': ', '\r\n\r\n', 'RTSP/1.0 200 OK'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const bytes = bytesOf(pieces.join(''))
      try {
        const cutOff = cutRtsp(bytes, { headBytes: 200, bodyBytes: 20 })
        if (!cutOff) return true
        if (cutOff.length > bytes.length) return false
        if (cutOff.message.start.startsWith('RTSP')) replyOf(cutOff.message)
        else rtspRequest(cutOff.message)
        return true
      } catch (error) {
        if (error instanceof Fault) return true
        throw error
      }
    }),
  )
})
