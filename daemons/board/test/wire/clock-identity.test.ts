/** Tests of wire/linuxptp.ts. */
import t from 'tap'
import { clockIdentityOf } from '../../wire/linuxptp.ts'

t.test('RFC 7273 4.3 writes a clock of linuxptp as an EUI-64', async (t) => {
  t.equal(clockIdentityOf('001dc1.fffe.123456'), '00-1D-C1-FF-FE-12-34-56')
  t.equal(clockIdentityOf('5a9537.fffe.1e80f7-1'), '5A-95-37-FF-FE-1E-80-F7')
})

t.test('rejects anything that is not a clock identity', async (t) => {
  for (const text of ['', '001dc1fffe123456', '001dc1.fffe.12345', '001DC1.FFFE.123456', '001dc1.fffe.123456-x'])
    t.equal(clockIdentityOf(text), undefined, text)
})
