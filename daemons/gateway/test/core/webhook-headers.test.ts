import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { headerText } from '../../core/webhook-headers.ts'

t.test('A.webhooks.2 a device path goes into its header as it is', async (t) => {
  for (const path of ['/dev/ttyUSB0', '/dev/serial/by-id/usb-FTDI_x-if00-port0', '/dev/tty 1', 'frame', '100%'])
    t.equal(headerText(path), path)
})

t.test('text that a header cannot carry is percent-encoded as a URL would be', async (t) => {
  t.equal(headerText('/dev/ttyä'), '/dev/tty%C3%A4')
  t.equal(headerText('a\r\nX-Svc-Port: b'), 'a%0D%0AX-Svc-Port:%20b')
  t.equal(headerText(' 5% ä'), '%205%25%20%C3%A4')
  t.equal(headerText('\ud800'), '%EF%BF%BD', 'a lone surrogate is the replacement character')
  t.equal(headerText(''), '')
})

t.test('whatever the text, the header is printable ASCII and encoded text decodes to what it was', async (t) => {
  holds(
    t,
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const header = headerText(text)
      if (!/^[\x20-\x7E]*$/.test(header)) return /^[\t\x20-\x7E]*$/.test(text) && header === text
      return header === text || decodeURIComponent(header) === text
    }),
  )
})
