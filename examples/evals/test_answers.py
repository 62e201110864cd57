"""Asks an assistant at a server of ibid, and checks what it says and cites, with DeepEval:

    IBID_URL=http://127.0.0.1:8123 IBID_KEY=none deepeval test run test_answers.py
"""

import os

import openai
import pytest
from deepeval import assert_test
from deepeval.metrics import BaseMetric, PatternMatchMetric
from deepeval.test_case import LLMTestCase

ASSISTANT = "trade-compliance"
QUESTIONS = [("What is the general rate for LED lamps, 8539.52.00?", r"(?s).*\b2%.*")]
ibid = openai.OpenAI(base_url=os.environ["IBID_URL"] + "/v1", api_key=os.environ["IBID_KEY"])


class QuotationsFound(BaseMetric):
    """The share of an answer's citations whose words stand on the page that they name."""

    threshold = 1.0

    def measure(self, test_case, *_args, **_kwargs):
        citations = test_case.metadata["citations"]
        found = [citation for citation in citations if citation["found"] != "not_found"]
        self.score = len(found) / len(citations) if citations else 0.0
        self.reason = f"{len(found)} of {len(citations)} citations were found"
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Quotations found"


@pytest.mark.parametrize(("question", "pattern"), QUESTIONS)
def test_answer(question, pattern):
    answer = ibid.chat.completions.create(model=ASSISTANT, messages=[{"role": "user", "content": question}])
    case = LLMTestCase(
        input=question,
        actual_output=answer.choices[0].message.content,
        # What metrics with a judge compare the answer with, such as FaithfulnessMetric.
        retrieval_context=[citation["snippet"] for citation in answer.citations],
        metadata={"citations": answer.citations},
    )
    assert_test(case, [PatternMatchMetric(pattern), QuotationsFound()])
