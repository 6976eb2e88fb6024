import t from 'tap'
import { atHost, getMediaCapability, getMediaServices, getProfiles, getStreamUri } from '../../wire/onvif.ts'
import { readXml } from '../../wire/xml.ts'

t.test('knows the services of media in both versions, the newer first', async (t) => {
  const service = (version: number) =>
    `<Service><Namespace>http://www.onvif.org/ver${version}0/media/wsdl</Namespace><XAddr>http://c/${version}</XAddr></Service>`
  const read = (text: string) => getMediaServices.read(readXml(`<a>${text}</a>`))
  t.same(read(service(1) + service(2)), [
    { version: 2, address: 'http://c/2' },
    { version: 1, address: 'http://c/1' },
  ])
  t.same(read('<Service><Namespace>http://www.onvif.org/ver20/ptz/wsdl</Namespace></Service>'), [])
  const older = '<a><Capabilities><Media><XAddr>http://c/m</XAddr></Media></Capabilities></a>'
  t.same(getMediaCapability.read(readXml(older)), [{ version: 1, address: 'http://c/m' }])
})

t.test('reads profiles of both versions, and leaves out those without video', async (t) => {
  const encoder = (rate: string) =>
    `<Encoding>H264</Encoding><Resolution><Width>1920</Width><Height>1080</Height></Resolution><RateControl><FrameRateLimit>${rate}</FrameRateLimit></RateControl>`
  const first = `<a><Profiles token="m"><VideoEncoderConfiguration>${encoder('25')}</VideoEncoderConfiguration></Profiles><Profiles token="audio"/></a>`
  const main = { token: 'm', encoding: 'H264', width: 1920, height: 1080, fps: 25 }
  t.same(getProfiles(1).read(readXml(first)), [main])
  const second = `<a><Profiles token="m"><Configurations><VideoEncoder>${encoder('12.5')}</VideoEncoder></Configurations></Profiles></a>`
  t.same(getProfiles(2).read(readXml(second)), [{ ...main, fps: 12.5 }])
  t.same(getProfiles(2).read(readXml(second.replace('12.5', 'NaN'))), [{ ...main, fps: undefined }])
  t.same(getProfiles(2).read(readXml(second.replace('token="m"', ''))), [], 'nothing names it')
})

t.test('reads the address of a stream, and takes none of another kind', async (t) => {
  const read = (uri: string) => getStreamUri(1, 'a"<').read(readXml(`<a><MediaUri><Uri>${uri}</Uri></MediaUri></a>`))
  t.match(getStreamUri(1, 'a"<').body, /a&quot;&lt;/)
  t.equal(read('rtsp://c/one?a=1&amp;b=2'), 'rtsp://c/one?a=1&b=2')
  for (const uri of ['http://c/one', 'rtsp:///etc/passwd', 'one', '', 'rtsp://['])
    t.throws(() => read(uri), { code: 'onvif_broken' }, uri)
})

t.test('an address that a camera says is held to the host that it answers from', async (t) => {
  t.equal(atHost('http://169.254.169.254:8080/onvif?x', '10.0.0.5'), 'http://10.0.0.5:8080/onvif?x')
  t.equal(atHost('rtsp://a:b@evil/one', '10.0.0.5'), 'rtsp://10.0.0.5/one')
  t.equal(atHost('rtsp://[::1]:554/one', 'cam.local'), 'rtsp://cam.local:554/one')
  for (const text of ['', '/onvif', 'javascript:alert(1)', 'file:///etc/passwd'])
    t.throws(() => atHost(text, '10.0.0.5'), { code: 'onvif_broken' }, text)
})
