/** Tests of http/metrics.ts. */
import t from 'tap'
import { createHistogram, createMetrics } from '../../http/metrics.ts'

const SPEC = { name: 'wait_seconds', help: 'Waiting', labels: ['route'] }

t.test('counts a value in every bucket whose bound is not below it, and sums up the values', async (t) => {
  const metrics = createMetrics({ process: false })
  const observe = metrics.histogram(SPEC, [0.5, 2]).of({ route: '/a' })
  for (const seconds of [0.25, 0.5, 1, 8]) observe(seconds)
  const lines = (await metrics.text()).trim().split('\n')
  t.same(lines.slice(0, 2), ['# HELP plantroom_wait_seconds Waiting', '# TYPE plantroom_wait_seconds histogram'])
  t.same(lines.slice(2), [
    'plantroom_wait_seconds_bucket{le="0.5",route="/a"} 2',
    'plantroom_wait_seconds_bucket{le="2",route="/a"} 3',
    'plantroom_wait_seconds_bucket{le="+Inf",route="/a"} 4',
    'plantroom_wait_seconds_sum{route="/a"} 9.75',
    'plantroom_wait_seconds_count{route="/a"} 4',
  ])
})

t.test('the same labels in another order are counted together, other labels separately', async (t) => {
  const histogram = createHistogram('wait', [1])
  histogram.of({ route: '/a', method: 'GET' })(0.5)
  histogram.of({ method: 'GET', route: '/a' })(0.5)
  histogram.of({ method: 'PUT', route: '/a' })(0.5)
  const counts = histogram.values().filter(({ metricName }) => metricName === 'wait_count')
  t.same(
    counts.map(({ labels, value }) => [labels.method, value]),
    [
      ['GET', 2],
      ['PUT', 1],
    ],
  )
})

t.test('can be shown in part like any other metric', async (t) => {
  const metrics = createMetrics({ process: false })
  const histogram = metrics.histogram(SPEC, [1])
  for (const route of ['/a', '/b']) histogram.of({ route })(0.5)
  const text = await metrics.textOf(({ route }) => route === '/b')
  t.match(text, 'plantroom_wait_seconds_bucket{le="1",route="/b"} 1')
  t.notMatch(text, '/a')
})
