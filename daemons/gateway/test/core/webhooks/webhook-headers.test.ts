import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { headerText } from '../../../core/webhooks/records.ts'

t.test('A.webhooks.2 a device path goes into its header as it is', async (t) => {
  for (const path of ['/dev/ttyUSB0', '/dev/serial/by-id/usb-FTDI_x-if00-port0', '/dev/tty 1', 'frame', '100%'])
    t.equal(headerText(path), path)
})

t.test('A.webhooks.2 a device path beyond ASCII has the same bytes in its header as in the body', async (t) => {
  for (const path of [
    '/dev/ttyä',
    '/dev/serial/by-id/usb-株式会社-if00',
    '/dev/tty 5%ä',
    '/dev/\u{1f50c}',
    '/dev/caf\u00e9%C3',
  ])
    t.equal(Buffer.from(headerText(path), 'latin1').toString('utf8'), path)
})

t.test('text that a header cannot carry is percent-encoded as a URL would be', async (t) => {
  t.equal(headerText('a\r\nX-Svc-Port: b'), 'a%0D%0AX-Svc-Port:%20b')
  t.equal(headerText(' 5% ä'), '%205%25%20%C3%A4')
  t.equal(headerText('/dev/tty\t1 '), '/dev/tty%091%20')
  t.equal(headerText(''), '')
})

t.test('whatever the text, the header has no control character and encodes the text', async (t) => {
  holds(
    t,
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const header = headerText(text)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      if (/[\x00-\x1f\x7f]|^ | $|[^\x00-\xff]/.test(header)) return false
      return Buffer.from(header, 'latin1').toString('utf8') === text || decodeURIComponent(header) === text
    }),
  )
})
