// Scenarios of the protocol's conformance suite that deft does not pass: the reason, as in docs/mcp.md, and what is said
// of it, by the suite or by the client that it ran. mcp_client.test.mjs fails when one of them passes, or fails otherwise.
export const DIFFERENCES = {
  'elicitation-sep1034-client-defaults': {
    why: 'deft offers no elicitation: a run has no user at hand who could be asked, and must not answer for the user',
    said: /client-elicitation-sep1034-/,
  },
  'auth/2025-03-26-oauth-metadata-backcompat': {
    why: 'its sign-in server names another issuer in its metadata than the one that they were requested of: RFC 8414, section 3.3, forbids a client to use them',
    said: /metadata does not name \S+ as its issuer/,
  },
  'auth/2025-03-26-oauth-endpoint-fallback': {
    why: 'its sign-in server has no metadata; the addresses that revision 2025-03-26 assumed are not used since 2025-06-18, and without metadata a client cannot know that PKCE is supported',
    said: /The server does not name a sign-in server/,
  },
  'auth/client-credentials-jwt': {
    why: 'an extension for clients without a user; the contract\'s configuration of a server has no place for it, and deft does not sign in with private_key_jwt',
    said: /client-credentials-/,
  },
  'auth/client-credentials-basic': {
    why: 'an extension for clients without a user; the contract\'s configuration of a server has no place for it',
    said: /client-credentials-/,
  },
  'auth/cross-app-access-complete-flow': {
    why: 'an extension for clients whose users sign in at an identity provider that issues tokens for other servers',
    said: /complete-flow-/,
  },
};
