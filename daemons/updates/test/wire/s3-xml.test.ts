import t from 'tap'
import { readS3Answer } from '../../wire/s3-xml.ts'

t.test('a list and an error are read as Amazon documents them', async (t) => {
  const list = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><IsTruncated>false</IsTruncated>
  <Contents><Key>a/b &amp; c</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><Owner><ID>x</ID></Owner></Contents>
  <Contents><Key><![CDATA[d<]]></Key></Contents></ListBucketResult>`
  const answer = readS3Answer(list)
  t.match(answer, { name: 'ListBucketResult', root: { Name: 'bucket', IsTruncated: 'false' } })
  t.match(answer?.elements, [
    { name: 'Contents', fields: { Key: 'a/b & c', LastModified: '2009-10-12T17:50:30.000Z' } },
    { name: 'Contents', fields: { Key: 'd<' } },
  ])
  const error = '<Error><Code>NoSuchKey</Code><Message>The resource you requested does not exist</Message></Error>'
  t.match(readS3Answer(error), { name: 'Error', root: { Code: 'NoSuchKey' } })
})

t.test('what is no XML is none, cut or hostile, and throws nothing', async (t) => {
  const whole = '<Error><Code>x</Code></Error>'
  for (let end = 0; end < whole.length; end++) t.equal(readS3Answer(whole.slice(0, end)), undefined)
  for (const text of ['{}', 'x', '<a>&unknown;</a>', '<a></b>', '\u0000']) t.equal(readS3Answer(text), undefined, text)
  t.same(readS3Answer('<a><__proto__>x</__proto__></a>')?.name, 'a')
  t.equal(({} as { x?: string }).x, undefined)
})

t.test('what no S3 server says is none: nested too deep, or a page of too many', async (t) => {
  t.equal(readS3Answer('<a>'.repeat(1_000_000)), undefined)
  t.equal(readS3Answer(`<a>${'<b><c>x</c></b>'.repeat(300_000)}</a>`), undefined)
  t.equal(readS3Answer(`<a>${'<b><c>x</c></b>'.repeat(2000)}</a>`)?.elements.length, 2000)
})
