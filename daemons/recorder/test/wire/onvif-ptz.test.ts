import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { getCapabilityAddress, getServiceAddress } from '../../wire/onvif.ts'
import {
  absoluteMove,
  continuousMove,
  getPresets,
  getPtzNodes,
  getPtzOptions,
  getPtzProfiles,
  getPtzStatus,
  PTZ,
  SPHERICAL,
  setPreset,
} from '../../wire/onvif-ptz.ts'
import { readXml } from '../../wire/xml.ts'

const space = (name: string, ranges: string, uri = SPHERICAL) => `<a:${name}><a:URI>${uri}</a:URI>${ranges}</a:${name}>`
const range = (name: string, min: string, max: string) =>
  `<a:${name}><a:Min>${min}</a:Min><a:Max>${max}</a:Max></a:${name}>`

t.test('A.ptz the profiles that turn are read in both services of media, with their limits', async (t) => {
  const limits = `<a:PanTiltLimits><a:Range><a:URI>u</a:URI>${range('XRange', '-1', '+0.5e0')}${range('YRange', '-.5', '1.')}</a:Range></a:PanTiltLimits>`
  const configured = `<a:NodeToken>n</a:NodeToken><a:DefaultAbsolutePantTiltPositionSpace>d</a:DefaultAbsolutePantTiltPositionSpace>${limits}`
  const first = `<A><Profiles token="p"><a:PTZConfiguration token="c">${configured}</a:PTZConfiguration></Profiles><Profiles token="q"/></A>`
  const second = `<A><Profiles token="p"><Configurations><PTZ token="c">${configured}</PTZ></Configurations></Profiles></A>`
  const expected = {
    ...{ token: 'p', configuration: 'c', node: 'n', usual: 'd', zoomLimits: [] },
    limits: [{ uri: 'u', pan: { min: -1, max: 0.5 }, tilt: { min: -0.5, max: 1 } }],
  }
  t.same(getPtzProfiles(1).read(readXml(first)), [expected])
  t.same(getPtzProfiles(2).read(readXml(second)), [expected])
})

t.test('A.ptz spaces whose ranges say nothing are left out, and so are texts that are no numbers', async (t) => {
  const good = space('AbsolutePanTiltPositionSpace', range('XRange', '0', '35999') + range('YRange', '-90', '90'))
  const bad = ['NaN', 'INF', '1e999', '99999999', '--1', '0x10', '']
    .map((text) => space('AbsolutePanTiltPositionSpace', range('XRange', '0', text) + range('YRange', '0', '1')))
    .join('')
  const flat = space('AbsoluteZoomPositionSpace', range('XRange', '1', '1'))
  const node = (inner: string) =>
    readXml(`<A><PTZNode token="n"><SupportedPTZSpaces>${inner}</SupportedPTZSpaces></PTZNode></A>`)
  const [found] = getPtzNodes.read(node(bad + good + flat + space('RelativeZoomTranslationSpace', '', 'x'.repeat(999))))
  t.match(found, { token: 'n', mostPresets: 0, spaces: { absoluteZoom: [], relativeZoom: [], continuous: [] } })
  t.same(found?.spaces.absolute, [{ uri: SPHERICAL, pan: { min: 0, max: 35_999 }, tilt: { min: -90, max: 90 } }])
  t.equal(getPtzNodes.read(node(good.repeat(99)))[0]?.spaces.absolute.length, 16)
})

t.test('A.ptz durations of a time-out are read, and sent without an exponent', async (t) => {
  const of = (min: string, max: string) =>
    getPtzOptions('c').read(
      readXml(
        `<A><PTZConfigurationOptions><PTZTimeout><Min>${min}</Min><Max>${max}</Max></PTZTimeout></PTZConfigurationOptions></A>`,
      ),
    ).timeoutMs
  t.same(of('PT0.5S', 'PT1M1.5S'), { min: 500, max: 61_500 })
  t.same(of('PT0S', 'P1DT2H'), { min: 0, max: 93_600_000 })
  for (const bad of ['P1Y', '-PT1S', '1', 'PT1X', '']) t.equal(of('PT0S', bad), undefined, bad)
  const { body } = continuousMove('a&b', { panTilt: { uri: 'u"', pan: 1e-7, tilt: -1 / 3 }, zoom: undefined }, 800)
  t.match(body, /<ProfileToken>a&amp;b<.*x="0" y="-0.333333" space="u&quot;"\/><\/Velocity><Timeout>PT0.8S</)
  t.match(absoluteMove('p', { panTilt: undefined, zoom: { uri: 'z', zoom: 0.5 } }).body, /<Position><Zoom [^>]*x="0.5"/)
})

t.test('A.ptz.presets are made safe to show, and bounded', async (t) => {
  const one = (token: string, name: string) => `<Preset token="${token}"><a:Name>${name}</a:Name></Preset>`
  const answer = readXml(
    `<A>${one('1', 'Gate\n<![CDATA[<b>]]>')}${one('', 'x')}${one('y'.repeat(65), 'x')}${one('2', '')}${one('3', 'z')}</A>`,
  )
  t.same(getPresets('p', 2).read(answer), [
    { token: '1', name: 'Gate <b>' },
    { token: '2', name: '2' },
  ])
  t.throws(() => setPreset('p', 'x').read(readXml('<A/>')), { code: 'onvif_broken' })
})

t.test('a position is read with its space; what is missing is not known', async (t) => {
  const of = (inner: string) => getPtzStatus('p').read(readXml(`<A><PTZStatus>${inner}</PTZStatus></A>`))
  const at = '<Position><a:PanTilt x="-0.25" y="1e-1" space="u"/><a:Zoom x="0.5"/></Position>'
  t.same(of(`${at}<MoveStatus><PanTilt>IDLE</PanTilt><Zoom>MOVING</Zoom></MoveStatus>`), {
    ...{ panTilt: { pan: -0.25, tilt: 0.1, uri: 'u' }, zoom: 0.5, isMoving: true },
  })
  t.same(of('<Position><PanTilt x="nan" y="0"/></Position><MoveStatus><PanTilt>UNKNOWN</PanTilt></MoveStatus>'), {
    ...{ panTilt: undefined, zoom: undefined, isMoving: undefined },
  })
})

t.test('whatever a camera answers, nothing but a Fault comes of it', async () => {
  const names = [
    'PTZNode',
    'Profiles',
    'Preset',
    'PTZStatus',
    'Position',
    'PanTilt',
    'XRange',
    'Min',
    'Configurations',
    'PTZ',
  ]
  const attribute = fc.constantFrom('', ' token="t"', ' x="1"', ' y="-1e9"', ' x="NaN"')
  const tree = fc.letrec<{ node: string }>((tie) => ({
    node: fc
      .tuple(
        fc.constantFrom(...names),
        attribute,
        fc.oneof(
          { depthSize: 'small' },
          fc.constantFrom('', '1', 'x', 'PT1S'),
          fc.array(tie('node'), { maxLength: 3 }).map((all) => all.join('')),
        ),
      )
      .map(([name, attribute, inner]) => `<${name}${attribute}>${inner}</${name}>`),
  })).node
  const operations = [
    getPtzProfiles(1),
    getPtzProfiles(2),
    getPtzNodes,
    getPtzOptions('c'),
    getPtzStatus('p'),
    getPresets('p', 3),
    setPreset('p', 'n'),
    getServiceAddress(PTZ),
    getCapabilityAddress('PTZ'),
  ]
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 4 }), (all) => {
      for (const operation of operations) {
        try {
          operation.read(readXml(`<A>${all.join('')}</A>`))
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
      }
    }),
    { numRuns: 300 },
  )
})
