/** Envelopes that a played camera answers with. */

export function envelope(body: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope" xmlns:t="http://www.onvif.org/ver10/schema"><env:Body>${body}</env:Body></env:Envelope>`
}

export function faultText(code: string, reason: string): string {
  return envelope(
    `<env:Fault><env:Code><env:Value>env:Sender</env:Value><env:Subcode><env:Value>${code}</env:Value></env:Subcode></env:Code><env:Reason><env:Text xml:lang="en">${reason}</env:Text></env:Reason></env:Fault>`,
  )
}
