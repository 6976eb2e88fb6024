import t from 'tap'
import {
  bucketAddress,
  bucketSentence,
  endpointSentence,
  postgresAddress,
  postgresSentence,
} from '../../wire/store-address.ts'

t.test(
  'an address of a database is read as PostgreSQL reads it, and all but this machine is called by TLS',
  async (t) => {
    const plain = { port: 5432, user: undefined, password: undefined, isSecure: true }
    for (const [text, more] of [
      ['postgres://db.example/updates', { host: 'db.example', database: 'updates' }],
      ['postgresql://u@db.example:5433/x?sslmode=disable', { port: 5433, user: 'u', isSecure: false }],
      ['postgres://u:p%40%3A%2F@10.0.0.1/x', { host: '10.0.0.1', user: 'u', password: 'p@:/' }],
      ['postgres://[fe80::1]/x', { host: 'fe80::1' }],
      ['postgres://localhost/x', { isSecure: false }],
      ['postgres://127.9.9.9/x?sslmode=verify-full', { isSecure: true }],
      [
        'postgres:///x?host=/run/postgresql&user=u&port=6543',
        { host: '/run/postgresql', user: 'u', port: 6543, isSecure: false },
      ],
    ] as const)
      t.match(postgresAddress(text), { ...plain, ...more }, text)
  },
)

t.test('what is no address, or would trust any certificate, is refused, and never quoted', async (t) => {
  for (const text of [
    ...['x', 'mysql://h/x', 'postgres://h', 'postgres://h/', 'postgres:///x', 'postgres://h/x#y', 'postgres://h:0/x'],
    ...[
      'postgres://h/x?sslmode=require',
      'postgres://h/x?sslmode=prefer',
      'postgres://h/x?options=-c',
      'postgres://h/x%00',
    ],
    ...[
      'postgres://h/x?host=/run',
      'postgres:///x?host=run',
      'postgres://h/%zz',
      'postgres://h/x?sslmode=disable&sslmode=disable',
    ],
    ...[
      'postgres:///x?host=/run&sslmode=verify-full',
      'postgres://secret:secret@h',
      'postgres:///x?host=/run&port=65536',
    ],
    `postgres://h/${'x'.repeat(300)}`,
  ]) {
    t.equal(postgresAddress(text), undefined, text)
    t.match(postgresSentence(text), /^it is no address of a database: expected postgres:/)
    t.notMatch(postgresSentence(text), /secret/)
  }
  t.equal(postgresSentence(''), undefined)
})

t.test('a bucket may have a prefix of plain names, and a server is a host and a port', async (t) => {
  t.same(bucketAddress('s3://updates'), { bucket: 'updates', prefix: '' })
  t.same(bucketAddress('s3://up.dates-2/a/b_c'), { bucket: 'up.dates-2', prefix: 'a/b_c/' })
  t.same(bucketAddress('s3://updates/a/'), { bucket: 'updates', prefix: 'a/' })
  for (const text of [
    's3://',
    's3://ab',
    's3://Updates',
    's3://u/x',
    's3://updates//a',
    's3://updates/../a',
    's3://key:secret@updates',
    's3://updates?x',
    'updates',
  ])
    t.match(bucketSentence(text), /^it is no address of a bucket/, text)
  for (const text of ['https://s3.example', 'http://127.0.0.1:9000', 'https://[::1]:1', ''])
    t.equal(endpointSentence(text), undefined, text)
  for (const text of [
    's3.example',
    'https://h/path',
    'https://u:secret@h',
    'https://h:99999',
    'ftp://h',
    'https://h?x',
  ])
    t.match(endpointSentence(text), /^it is no address of an S3 server/, text)
})
