// A model for all tests of a file. At their end it fails if a strict provider would have refused a request.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { start as startAnthropic } from '../../fakes/anthropic.mjs';
import { start as startAzure } from '../../fakes/azure.mjs';
import { start as startGemini } from '../../fakes/gemini.mjs';
import { start as startBedrock } from '../../fakes/bedrock.mjs';
import { start } from '../../fakes/openai.mjs';
import { start as startResponses } from '../../fakes/responses.mjs';

function strict(fake) {
  after(async () => {
    await fake.close();
    assert.deepEqual(fake.violations, [], 'every request to the model was one that a strict provider takes');
  });
  return fake;
}

export const strictModel = async (options) => strict(await start(options));

export const strictAzure = async (options) => strict(await startAzure(options));
export const strictAnthropic = async (options) => strict(await startAnthropic(options));

export const strictGemini = async (options) => strict(await startGemini(options));
export const strictBedrock = async (options) => strict(await startBedrock(options));

export const strictResponses = async (options) => strict(await startResponses(options));
