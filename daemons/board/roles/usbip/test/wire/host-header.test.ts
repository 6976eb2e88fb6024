/** The header Host, which strangers write. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '#kit/test/holds.ts'
import { hostOfHeader } from '../../wire/host-script.ts'

t.test('reads names and addresses, with and without a port', (t) => {
  const taken: [string, string][] = [
    ['board', 'board'],
    ['Board.local:8080', 'board.local'],
    ['board.local.', 'board.local'],
    ['KIOSK_7', 'kiosk_7'],
    ['10.0.0.7', '10.0.0.7'],
    ['10.0.0.7:80', '10.0.0.7'],
    ['[fd00::7]', 'fd00::7'],
    ['[FD00::7]:8080', 'fd00::7'],
  ]
  for (const [header, host] of taken) t.equal(hostOfHeader(header), host, header)
  t.end()
})

t.test('accepts nothing else', (t) => {
  const refused = ['', ' ', 'a b', 'a;b', "a'b", 'a"b', 'a$(b)', 'a`b`', 'a\nb', '-a', 'a-', 'a..b', 'a:b', 'a:123456']
  for (const header of [...refused, '256.1.1.1', '1.2.3', '[::1', '[:::]', '[1.2.3.4]', 'fd00::7', 'x'.repeat(64), 'ü'])
    t.equal(hostOfHeader(header), undefined, JSON.stringify(header))
  t.equal(hostOfHeader(undefined), undefined)
  t.end()
})

t.test('an accepted name needs no quoting anywhere', (t) => {
  const shell = fc.stringMatching(/^[a-z0-9.\-_:[\]'"$`;\\ \n]{0,30}$/)
  holds(
    t,
    fc.property(fc.oneof(fc.string(), shell), (header) => /^[a-z0-9._:-]*$/.test(hostOfHeader(header) ?? '')),
  )
  t.end()
})
