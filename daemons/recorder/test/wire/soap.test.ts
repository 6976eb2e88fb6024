import { createHash } from 'node:crypto'
import t from 'tap'
import { readSoap, soapText } from '../../wire/soap.ts'
import { readXml, textAt } from '../../wire/xml.ts'

const signing = {
  ...{ username: 'a<b', password: 'userpassword', cameraMs: Date.UTC(2010, 8, 16, 7, 50, 45) },
  nonce: Buffer.from('LKqI6G/AikKCQrN0zqZFlg==', 'base64'),
  sha1: (bytes: Uint8Array) => createHash('sha1').update(bytes).digest('base64'),
  base64: (bytes: Uint8Array) => Buffer.from(bytes).toString('base64'),
}

t.test('signs with the digest of nonce, time and password', async (t) => {
  const root = readXml(soapText('<x/>', signing))
  const at = (name: string) => textAt(root, 'Header', 'Security', 'UsernameToken', name)
  t.equal(at('Username'), 'a<b')
  t.equal(at('Nonce'), 'LKqI6G/AikKCQrN0zqZFlg==')
  t.equal(at('Created'), '2010-09-16T07:50:45.000Z')
  const hash = createHash('sha1').update(signing.nonce).update('2010-09-16T07:50:45.000Zuserpassword')
  t.equal(at('Password'), hash.digest('base64'))
  t.notMatch(soapText('<x/>', undefined), /Security/)
})

const answer = (body: string) => `<s:Envelope xmlns:s="u"><s:Body>${body}</s:Body></s:Envelope>`
const fault = (code: string, reason: string) =>
  answer(
    `<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>ter:${code}</s:Value></s:Subcode></s:Code><s:Reason><s:Text>${reason}</s:Text></s:Reason></s:Fault>`,
  )

t.test('tells a wrong login, an unknown operation and any other fault apart, and a foreign answer', async (t) => {
  t.equal(readSoap(answer('<x:YResponse xmlns:x="u"><x:a>1</x:a></x:YResponse>'), 'YResponse').name, 'YResponse')
  const cases = [
    [fault('NotAuthorized', 'no.'), 'camera_refused', 'user name and password for ONVIF (no)'],
    [fault('ActionNotSupported', 'what?'), 'onvif_unsupported', 'what?'],
    [
      fault('ActionFailed', 'Action failed').replace(
        '</s:Fault>',
        '<s:Detail><s:Text>no lens</s:Text></s:Detail></s:Fault>',
      ),
      'onvif_failed',
      'a fault: Action failed: no lens.',
    ],
    [fault('InvalidArgVal', 'a\u0007b'), 'onvif_failed', 'a fault: '],
    [answer('<s:Fault><faultcode>s:Client</faultcode><faultstring>old</faultstring></s:Fault>'), 'onvif_failed', 'old'],
    [answer('<s:Fault/>'), 'onvif_failed', 'no reason'],
    [answer('<ZResponse/>'), 'onvif_broken', 'without YResponse'],
    ['<html><body>Sign in</body></html>', 'onvif_broken', 'without YResponse'],
  ] as const
  for (const [text, code, words] of cases) {
    if (text.includes('\u0007')) t.throws(() => readSoap(text, 'YResponse'), { code: /onvif_/ })
    else t.throws(() => readSoap(text, 'YResponse'), { code, message: new RegExp(words.replace(/[()?]/g, '\\$&')) })
  }
})
