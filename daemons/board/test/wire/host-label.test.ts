import t from 'tap'
import { hostLabelFault } from '../../wire/names.ts'

t.test('RFC 1123, 2.1: letters, digits and hyphens make a name', async (t) => {
  for (const name of ['a', 'lobby-ceiling', 'Rack2', '3com', 'x'.repeat(63)])
    t.equal(hostLabelFault(name), undefined, name)
})

t.test('what cannot be a name says why', async (t) => {
  for (const [name, why] of [
    ['', /needs a name/],
    ['x'.repeat(64), /64 characters/],
    ['lobby.example', /lobby alone/],
    ['.', /lobby-ceiling alone/],
    ['lobby ceiling', /A space/],
    ['lobby_1', /"_" cannot/],
    ['café', /"é" cannot/],
    ['-lobby', /hyphen/],
    ['lobby-', /hyphen/],
    ['localhost', /every machine/],
    ['LocalHost', /every machine/],
  ] as const)
    t.match(hostLabelFault(name), why, name)
})

t.test('a name that a browser reads as an address is refused', async (t) => {
  for (const name of ['123', '0x7f', '0X', '2130706433']) {
    t.match(hostLabelFault(name), /needs a letter/)
    t.match(URL.parse(`http://${name}/`)?.hostname ?? '', /^[\d.]*$/, `a browser makes an address of ${name}`)
  }
})
